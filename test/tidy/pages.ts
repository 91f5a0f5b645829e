// Rules about Markdown pages: links lead to files, commands exist, and generated parts are current.
import { posix } from 'node:path';
import { readBlock } from '../../scripts/support/generated-block.ts';
import type { GeneratedPage, GeneratedPart } from '../../scripts/support/generated-pages.ts';
import { type Fault, type Tree, under } from './tree.ts';

const PAGE = /\.md$/;
const README_LINES_MAX = 150;
const COMMANDS_OF_NPM = new Set(['ci', 'install', 'start', 'test', 'run', 'view']);

/** The generated block of a page equals the present output of its generator. */
export function generatedPartIsFresh(tree: Tree, { page, block, content }: GeneratedPart): readonly Fault[] {
  const text = tree.get(page);
  if (text === undefined) return [`${page}: missing`];
  const found = readBlock(text, block);
  if (found === undefined) return [`${page}: it needs one generated block "${block}"`];
  return found === content.trim() ? [] : [`${page}: the block "${block}" is stale: run npm run docs`];
}

/** A generated page equals the present output of its generator. */
export function generatedPageIsFresh(tree: Tree, { path, content }: GeneratedPage): readonly Fault[] {
  return tree.get(path) === content ? [] : [`${path}: stale: run npm run docs`];
}

/** The target of each relative link in a page is a file or folder of the repository. */
export function linksLeadSomewhere(tree: Tree): readonly Fault[] {
  const paths = [...tree.keys()];
  const exists = (target: string): boolean => tree.has(target) || paths.some((path) => path.startsWith(`${target}/`));
  return [...under(tree, PAGE)].flatMap(([page, text]) =>
    [...withoutCode(text).matchAll(/\]\((?!\w+:|#)([^)#\s]+)(?:#[^)]*)?\)/g)].flatMap(([, link = '']) => {
      const target = posix.join(posix.dirname(page), link).replace(/\/$/, '');
      return exists(target) ? [] : [`${page}: the link ${link} leads nowhere`];
    }),
  );
}

/** Each npm script that a page names exists. */
export function commandsExist(tree: Tree): readonly Fault[] {
  const scripts = new Set(
    [...(tree.get('package.json') ?? '').matchAll(/^ {4}"([a-z:]+)": "/gm)].map(([, name]) => name),
  );
  return [...under(tree, PAGE)].flatMap(([page, text]) => [
    ...[...text.matchAll(/\bnpm run (?:-\S+ )*([a-z:]+)/g)].flatMap(([, script = '']) =>
      scripts.has(script) ? [] : [`${page}: there is no script "npm run ${script}"`],
    ),
    ...[...text.matchAll(/(?:^|`)npm ([a-z]+)/gm)].flatMap(([, command = '']) =>
      COMMANDS_OF_NPM.has(command) ? [] : [`${page}: "npm ${command}" is not a command that we use`],
    ),
  ]);
}

/** README.md has at most 150 lines. */
export function readmeIsShort(tree: Tree): readonly Fault[] {
  const lines = (tree.get('README.md') ?? '').trimEnd().split('\n').length;
  return lines <= README_LINES_MAX ? [] : [`README.md: ${lines} lines; ${README_LINES_MAX} is the ceiling`];
}

/** Each page has one title, in its first line. */
export function pagesHaveOneTitle(tree: Tree): readonly Fault[] {
  return [...under(tree, PAGE)].flatMap(([page, text]) => {
    const titles = withoutCode(text).match(/^# .+$/gm) ?? [];
    return titles.length === 1 && text.startsWith('# ') ? [] : [`${page}: it does not begin with its only title`];
  });
}

/** No two decision records share a number. */
export function decisionNumbersAreUnique(tree: Tree): readonly Fault[] {
  const records = under(tree, /^docs\/adr\/\d{4}-/);
  const byNumber = Map.groupBy(records.keys(), (path) => path.slice('docs/adr/'.length, 'docs/adr/0000'.length));
  return [...byNumber].flatMap(([number, paths]) => (paths.length === 1 ? [] : [`${number}: ${paths.join(' and ')}`]));
}

/** A citation such as "ADR 0001, 0002" names existing records. Rules and their fixtures are exempt. */
export function citedDecisionsExist(tree: Tree): readonly Fault[] {
  const numbers = new Set(
    [...under(tree, /^docs\/adr\/\d{4}-/).keys()].map((path) => path.slice('docs/adr/'.length, 'docs/adr/0000'.length)),
  );
  return [...under(tree, /^(?!test\/tidy\/)/)].flatMap(([path, text]) =>
    [...text.matchAll(/\bADRs?[\s*/#]+(\d{4}\b(?:(?:,| and)[\s*/#]+(?:ADR )?\d{4}\b)*)/g)]
      .flatMap(([, list = '']) => list.match(/\d{4}/g) ?? [])
      .filter((number) => !numbers.has(number))
      .map((number) => `${path}: ADR ${number} has no record; docs/adr/README.md names the one that replaces it`),
  );
}

function withoutCode(page: string): string {
  return page.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}
