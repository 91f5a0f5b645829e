/**
 * The import graph of src, read by dependency-cruiser with the rules of .dependency-cruiser.cjs.
 *
 * For the `layers` script (broken rules, and whether the picture in docs/architecture.md is fresh) and the `graph`
 * script, which writes that picture. It draws what the code imports, not what the rules allow.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import { teachSwcUsing } from './swc-using.ts';

interface CruiserConfig {
  readonly forbidden: NonNullable<ICruiseOptions['ruleSet']>['forbidden'];
  readonly options: ICruiseOptions & { readonly enhancedResolveOptions: object };
}

const FOLDERS = ['src', 'sdk', 'test', 'bench', 'chaos', 'examples', 'operator', 'scripts'];

/** Reads every import of the tree at `root` and holds it against the rules. */
export async function cruiseTree(root: string): Promise<ICruiseResult> {
  teachSwcUsing();
  const require = createRequire(import.meta.url);
  const { forbidden, options }: CruiserConfig = require('../../.dependency-cruiser.cjs');
  const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
  const cruised = await cruise(
    folders,
    { ...options, baseDir: root, validate: true, ruleSet: { ...(forbidden && { forbidden }) } },
    options.enhancedResolveOptions,
  );
  if (typeof cruised.output === 'string')
    throw new TypeError('dependency-cruiser answered with text, not with a graph');
  return cruised.output;
}

/** One line for each broken rule: the rule, who imports, and what. */
export function brokenRules(cruised: ICruiseResult): readonly string[] {
  const violations = cruised.summary.violations.map(({ rule, from, to, cycle }) => {
    const path = cycle ? cycle.map((step) => step.name).join(' -> ') : to;
    return `${rule.name}: ${from} -> ${path}`;
  });
  return [...violations, ...circularFolders(cruised)];
}

/** Imports by which folders of a layer form a circle. Doors do not count: they import from every folder. */
function circularFolders({ modules }: ICruiseResult): readonly string[] {
  const imports = new Map<string, Map<string, string>>();
  for (const { source, dependencies } of modules) {
    const layer = layerOf(source);
    if (layer === undefined || source.endsWith('/index.ts')) continue;
    for (const { resolved } of dependencies) {
      const [from, to] = [dirname(source), dirname(resolved)];
      if (layerOf(resolved) !== layer || from === to) continue;
      imports.set(from, (imports.get(from) ?? new Map<string, string>()).set(to, `${source} -> ${resolved}`));
    }
  }
  return [...imports].flatMap(([from, targets]) =>
    [...targets].flatMap(([to, example]) =>
      reachable(imports, to).has(from) ? [`folders-have-a-direction: ${example}`] : [],
    ),
  );
}

/** The folder, and all that it imports, directly or not. */
function reachable(imports: ReadonlyMap<string, ReadonlyMap<string, string>>, start: string): ReadonlySet<string> {
  const found = new Set([start]);
  for (const folder of found) for (const next of imports.get(folder)?.keys() ?? []) found.add(next);
  return found;
}

/** The block of docs/architecture.md that shows the layers. */
export const LAYER_GRAPH = { page: 'docs/architecture.md', block: 'layer-graph' } as const;

/** The content of that block. */
export function layerGraph(cruised: ICruiseResult): string {
  return `\`\`\`mermaid\n${layerPicture(cruised)}\n\`\`\``;
}

/** The layers as a Mermaid flow chart: an arrow for each pair where a file of one imports the door of the other. */
export function layerPicture(cruised: ICruiseResult): string {
  const layers = new Set<string>();
  const arrows = new Set<string>();
  for (const { source, dependencies } of cruised.modules) {
    const from = layerOf(source);
    if (from === undefined) continue;
    layers.add(from);
    for (const { resolved } of dependencies) {
      const to = layerOf(resolved);
      if (to !== undefined && to !== from) arrows.add(`  ${from} --> ${to}`);
    }
  }
  const nodes = [...layers].toSorted().map((layer) => `  ${layer}`);
  return ['flowchart TD', ...nodes, ...[...arrows].toSorted()].join('\n');
}

function layerOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}
