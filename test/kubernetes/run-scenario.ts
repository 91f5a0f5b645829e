// Runs a scenario in its own cluster, as `npm run kube` does. The cluster ends with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { LEVELS } from '#base';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { writeArchive } from '../../scripts/image/archive.ts';
import { imageOf } from '../../scripts/image/image.ts';
import type { Entry } from '../../scripts/image/tar.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';
import type { Figures, ScenarioName } from './scenarios/scenarios.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NODE = ['--conditions=source'];
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
/** A low compression level, because compression would take most of the time. */
const COMPRESSION = 1;

/** Runs a scenario, prints its result and resolves to it. @throws Error with the logs when it did not finish. */
export function runScenario<Result = Figures>(
  name: ScenarioName | 'kubelet',
  world: readonly string[] = [],
  values: readonly string[] = [],
): Promise<Result> {
  return runInCluster(join(import.meta.dirname, 'scenarios/main.ts'), { args: [name, ...values], world });
}

/**
 * Runs a program in a cluster that `npm run kube` makes with the further options `world`. Prints all lines of the
 * program, and resolves to its last one, read as JSON. @throws Error with its log.
 */
export async function runInCluster<Result>(
  program: string,
  { args = [], world: own = [] }: { readonly args?: readonly string[]; readonly world?: readonly string[] } = {},
): Promise<Result> {
  const command = [process.execPath, ...NODE, program, ...args];
  const world = [join(import.meta.dirname, 'main.ts'), '--image', await imageArchive(), ...own, ...command];
  const child = spawn(process.execPath, [...NODE, ...world], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  endWithTest(child);
  const [output, log, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const what = [basename(program), ...args].join(' ');
  if (code !== 0) throw new Error(`${what} ended with ${code}:\n${log}`);
  const line = output.trim().split('\n').at(-1) ?? '';
  process.stderr.write(`${what}: ${output.trim()}\n`);
  const result: Result = JSON.parse(line);
  return result;
}

/** Writes the image of the product, or of a later release, as an archive of the test; its path. */
export async function imageArchive(later?: string): Promise<string> {
  const archive = join(testDir(), 'cairn.tar');
  const { layers, config } = imageOf(ROOT, { dist: DIST });
  const written = layers.map(({ name, entries }) => ({
    name,
    entries: later === undefined ? entries : entries.map((entry) => laterOf(entry, later)),
  }));
  await writeArchive(archive, written, { ...config, version: later ?? config.version }, COMPRESSION);
  return archive;
}

/** A file as a later release would have it, which knows one feature level more and has no formats of that level. */
function laterOf(entry: Entry, release: string): Entry {
  if (entry.kind !== 'file' || !/^opt\/cairn\/(?:package\.json|dist\/[\w-]+\.js)$/.test(entry.path)) return entry;
  const changed = Buffer.from(entry.bytes)
    .toString()
    .replace(/(?<=^ {2}"version": ")[^"]*/m, release)
    .replace(/(?<=const LEVELS = \{\s+min: \d+,\s+max: )\d+/, String(LEVELS.max + 1));
  return { ...entry, bytes: Buffer.from(changed) };
}
