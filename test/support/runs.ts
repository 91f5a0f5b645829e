// Scales the number of runs of property tests. A commit runs a third of them; `npm run test:all` runs all (it sets
// `TEST_LONG=1`), and `TEST_RUNS=10 npm test -- test/property/raft` runs ten times as many.
/** True in `npm run test:all`. */
export const IS_LONG: boolean = process.env['TEST_LONG'] === '1';

const { TEST_RUNS: factor = IS_LONG ? 1 : 1 / 3 } = process.env;

/** Number of runs of a property that has `count` runs in `npm run test:all`. */
export function runs(count: number): number {
  return Math.ceil(count * Number(factor));
}
