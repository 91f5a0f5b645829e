// Rules about numbered invariants. Header comments of src, operator and scripts state them, one per line or paragraph:
// the number, then two blanks or a colon ("*   R1  A term never goes back."), or in an indented list one blank
// ("*   R10 Committed entries …"). Code and tests cite them by number.
import { type Fault, type Tree, tests, under } from './tree.ts';

const STATEMENT =
  /^\s*(?:\*|\/\/)(?:\s+(?:[-*] )?(?:\*\*([A-Z]{1,2}\d{1,3})[:.]?\*\*|([A-Z]{1,2}\d{1,3})(?:[:.] |  ))|\s{3}([A-Z]{1,2}\d{1,3}) ) *\S/;

interface Statement {
  readonly id: string;
  readonly path: string;
}

/** No two statements share a number. */
export function invariantNumbersAreUnique(tree: Tree): readonly Fault[] {
  const homes = Map.groupBy(statements(tree), ({ id }) => id);
  return [...homes].flatMap(([id, stated]) =>
    stated.length === 1 ? [] : [`${id}: stated ${stated.length} times: ${stated.map(({ path }) => path).join(', ')}`],
  );
}

/** At least one test cites each invariant. */
export function invariantsAreTested(tree: Tree): readonly Fault[] {
  const cited = new Set([...tests(tree).values()].flatMap((text) => text.match(/\b[A-Z]{1,2}\d{1,3}\b/g) ?? []));
  return statements(tree).flatMap(({ id, path }) => (cited.has(id) ? [] : [`${path}: no test cites invariant ${id}`]));
}

function statements(tree: Tree): readonly Statement[] {
  const files = [...under(tree, /^(?:src|operator|scripts)\/.*\.(?:ts|mjs)$/)].filter(
    ([path]) => !path.includes('/gen/'),
  );
  return files.flatMap(([path, text]) =>
    text.split('\n').flatMap((line) => {
      const [, bold, plain, listed] = STATEMENT.exec(line) ?? [];
      const id = bold ?? plain ?? listed;
      return id === undefined ? [] : [{ id, path }];
    }),
  );
}
