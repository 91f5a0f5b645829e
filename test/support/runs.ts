/**
 * How often a property is tried. A commit runs a third; `npm run test:all` runs them all (it sets `TEST_LONG=1`), and
 * `TEST_RUNS=10 npm test -- test/property/raft` ten times as many.
 */
const { TEST_LONG: long, TEST_RUNS: factor = long === '1' ? 1 : 1 / 3 } = process.env;

/** The runs of a property that has `count` of them in `npm run test:all`. */
export function runs(count: number): number {
  return Math.ceil(count * Number(factor));
}
