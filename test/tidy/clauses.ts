/**
 * The clauses of the specification are a closed table: docs/spec/README.md leads from its parts to their clauses, the
 * other pages of docs/spec say what each clause promises, and tests of test/spec show it through the real servers. The
 * same page says what is not shown on clusters.
 */
import { type Fault, type Tree, under } from './tree.ts';

const TABLE = 'docs/spec/README.md';
const PAGES = /^docs\/spec\/(?!README)[a-z]+\.md$/;
const TESTS = /^test\/spec\/.*\.ts$/;
const CLAUSE = /\bSPEC(?:-[A-Z0-9]+)+\b/g;
/** The first argument of describe, it and test, or of what their tables return; what is skipped shows nothing. */
const TITLE = /(?:\b(?:describe|it|test)(?:\.(?!skip|todo)\w+)*|\))\(\s*(['"`])((?:(?!\1).)*)\1/gs;
/** What a part says that has no clause in this release. */
const LATER = 'later';
/** A row of the table: section, or nothing when it is that of the row above; part; clauses. */
const ROW = /^\|([^|]*)\|([^|]+)\|([^|]*)\|$/;
/** Heading and rule. */
const HEAD_ROWS = 2;

/** Every clause stands in the table, in one page and in the title of a test, and no test names another. */
export function clausesAreClosed(tree: Tree): readonly Fault[] {
  const defined = definedClauses(tree);
  if (defined.length === 0) return [];
  const table = tree.get(TABLE) ?? '';
  const [named, shown] = [new Set(idsIn(table)), titledClauses(tree)];
  const twice = defined.filter((id, at) => defined.indexOf(id) !== at);
  return [
    ...defined.filter((id) => !named.has(id)).map((id) => `${TABLE}: no part leads to ${id}`),
    ...defined.filter((id) => !shown.has(id)).map((id) => `docs/spec: no title of a test in test/spec names ${id}`),
    ...twice.map((id) => `docs/spec: ${id} is defined twice`),
    ...[...named].filter((id) => !defined.includes(id)).map((id) => `${TABLE}: no page says what ${id} promises`),
    ...[...citedClauses(tree)].filter((id) => !defined.includes(id)).map((id) => `docs/spec: a test names ${id}`),
    ...partsWithout(table).map((part) => `${TABLE}: "${part}" has neither a clause nor "${LATER}"`),
  ];
}

/** A clause is defined by the row that begins with it. */
function definedClauses(tree: Tree): readonly string[] {
  return [...under(tree, PAGES).values()].flatMap((text) =>
    [...text.matchAll(/^\| (SPEC[A-Z0-9-]+) \|/gm)].flatMap(([, id]) => id ?? []),
  );
}

/** Named in titles of tests; a comment, or a string that no test is called, shows nothing. */
function titledClauses(tree: Tree): ReadonlySet<string> {
  return new Set([...under(tree, TESTS).values()].flatMap(idsInTitles));
}

/** Named anywhere in a test, but for those of this rule. */
function citedClauses(tree: Tree): ReadonlySet<string> {
  const texts = [...under(tree, /^test\/(?!tidy\/).*\.ts$/).values()];
  return new Set(texts.flatMap(idsIn));
}

const CONFIG = 'vitest.config.ts';
/** The list in the configuration of tests, and a name in it. */
const OF_ONE_NODE = /OF_ONE_NODE: readonly string\[\] = \[([^\]]*)\]/;
const NAME = /^ *'([a-z0-9-]+)',$/gm;
/** A row of the table of files that do not run on clusters: file; why, and what nothing else shows. */
const ROW_OF_ONE = /^\| `([a-z0-9-]+)` \|([^|]+)\|$/gm;

/**
 * The files that do not run on clusters are those that the page of clauses says, each with the clauses that only such
 * files show.
 */
export function filesOfOneNodeAreTold(tree: Tree): readonly Fault[] {
  const config = tree.get(CONFIG);
  if (config === undefined) return [];
  const left = [...(OF_ONE_NODE.exec(config)?.[1] ?? '').matchAll(NAME)].flatMap(([, name]) => name ?? []);
  const rows = [...(tree.get(TABLE) ?? '').matchAll(ROW_OF_ONE)].map(([, name = '', why = '']) => ({ name, why }));
  const titled = [...under(tree, TESTS)].map(([path, text]) => ({ path, ids: idsInTitles(text) }));
  const isOf = (name: string, path: string): boolean =>
    [`test/spec/${name}.test.ts`, `test/spec/${name}.long.test.ts`].includes(path);
  const isLeft = (path: string): boolean => left.some((name) => isOf(name, path));
  const onClusters = new Set(titled.filter(({ path }) => !isLeft(path)).flatMap(({ ids }) => ids));
  const onlyIn = (name: string): readonly string[] => {
    const ids = titled.filter(({ path }) => isOf(name, path)).flatMap((each) => each.ids);
    return [...new Set(ids)].filter((id) => !onClusters.has(id));
  };
  return [
    ...left
      .filter((name) => !titled.some(({ path }) => isOf(name, path)))
      .map((name) => `${CONFIG}: there is no test/spec/${name}.test.ts`),
    ...left
      .filter((name) => !rows.some((row) => row.name === name))
      .map((name) => `${TABLE}: ${name} does not run on clusters, and no row says why`),
    ...rows
      .filter(({ name }) => !left.includes(name))
      .map(({ name }) => `${TABLE}: ${name} runs on clusters (${CONFIG})`),
    ...rows.flatMap(({ name, why }) => {
      const [told, shown] = [idsIn(why), onlyIn(name)];
      return [
        ...shown
          .filter((id) => !told.includes(id))
          .map((id) => `${TABLE}: ${name} alone shows ${id}, and not on clusters`),
        ...told.filter((id) => !shown.includes(id)).map((id) => `${TABLE}: ${id} is not shown by ${name} alone`),
      ];
    }),
  ];
}

function partsWithout(table: string): readonly string[] {
  const rows = table.split('\n').flatMap((line) => {
    const [, , part = '', clauses = ''] = ROW.exec(line) ?? [];
    return part === '' ? [] : [{ part: part.trim(), clauses }];
  });
  return rows
    .slice(HEAD_ROWS)
    .filter(({ clauses }) => !clauses.includes(LATER) && idsIn(clauses).length === 0)
    .map(({ part }) => part);
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
    .join('\n');
}

function idsInTitles(text: string): readonly string[] {
  return [...withoutComments(text).matchAll(TITLE)].flatMap(([, , title = '']) => idsIn(title));
}

function idsIn(text: string): readonly string[] {
  return text.match(CLAUSE) ?? [];
}
