// Rule about the clauses of the specification. docs/spec/README.md has a table from its parts to their clauses, the
// other pages of docs/spec define each clause, and tests in test/spec and test/model test each clause on real servers.
import { type Fault, type Tree, under } from './tree.ts';

const TABLE = 'docs/spec/README.md';
const PAGES = /^docs\/spec\/(?!README)[a-z]+\.md$/;
const TESTS = /^test\/(?:spec|model)\/.*\.ts$/;
const CLAUSE = /\bSPEC(?:-[A-Z0-9]+)+\b/g;
/** The first argument of describe, it and test, or of the function that `each` returns. Skipped tests do not match. */
const TITLE = /(?:\b(?:describe|it|test)(?:\.(?!skip|todo)\w+)*|\))\(\s*(['"`])((?:(?!\1).)*)\1/gs;
/** Entry of a part that has no clause in this release. */
const LATER = 'later';
/** A row of the table: section (empty when it equals that of the row above), part, clauses. */
const ROW = /^\|([^|]*)\|([^|]+)\|([^|]*)\|$/;
/** Heading and separator line. */
const HEAD_ROWS = 2;

/** Each clause is in the table, defined in exactly one page, and named by a test title; tests name no other clause. */
export function clausesAreClosed(tree: Tree): readonly Fault[] {
  const defined = definedClauses(tree);
  if (defined.length === 0) return [];
  const table = tree.get(TABLE) ?? '';
  const [named, shown] = [new Set(idsIn(table)), titledClauses(tree)];
  const twice = defined.filter((id, at) => defined.indexOf(id) !== at);
  return [
    ...defined.filter((id) => !named.has(id)).map((id) => `${TABLE}: no part leads to ${id}`),
    ...defined
      .filter((id) => !shown.has(id))
      .map((id) => `docs/spec: no title of a test in test/spec or test/model names ${id}`),
    ...twice.map((id) => `docs/spec: ${id} is defined twice`),
    ...[...named].filter((id) => !defined.includes(id)).map((id) => `${TABLE}: no page says what ${id} promises`),
    ...[...citedClauses(tree)].filter((id) => !defined.includes(id)).map((id) => `docs/spec: a test names ${id}`),
    ...partsWithout(table).map((part) => `${TABLE}: "${part}" has neither a clause nor "${LATER}"`),
  ];
}

/** Ids of the rows in the tables of clauses. */
function definedClauses(tree: Tree): readonly string[] {
  return [...under(tree, PAGES).values()].flatMap((text) =>
    [...text.matchAll(/^\| (SPEC[A-Z0-9-]+) \|/gm)].flatMap(([, id]) => id ?? []),
  );
}

/** Ids in test titles. Comments and other strings do not count. */
function titledClauses(tree: Tree): ReadonlySet<string> {
  return new Set([...under(tree, TESTS).values()].flatMap(idsInTitles));
}

/** Ids anywhere in a test, except in the tests of this rule. */
function citedClauses(tree: Tree): ReadonlySet<string> {
  const texts = [...under(tree, /^test\/(?!tidy\/).*\.ts$/).values()];
  return new Set(texts.flatMap(idsIn));
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
