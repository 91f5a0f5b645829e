// How often a property is tried. A commit runs a third; `npm run test:all` runs them all (it sets `TEST_LONG=1`), and
// `TEST_RUNS=10 npm test -- test/property/raft` ten times as many.
/** Whether this is a run of everything. */
export const IS_LONG: boolean = process.env['TEST_LONG'] === '1';

const { TEST_RUNS: factor = IS_LONG ? 1 : 1 / 3 } = process.env;

/** The runs of a property that has `count` of them in `npm run test:all`. */
export function runs(count: number): number {
  return Math.ceil(count * Number(factor));
}
