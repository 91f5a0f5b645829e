// Goal: the newest manifest is found although the listing is stale, and without manifests that the search does not need
// (X2), with a bounded number of questions. Method: a store that knows only which numbers exist; random numbers and
// listings.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ObjectStore, openArchive } from '#archive';
import { manifestObject, numberIn } from '../../../src/archive/archive-names.ts';
import { keptNumbers } from '../../../src/archive/open-archive.ts';
import { DATABASE, newHash } from '../../support/archive/archived-history.ts';

/** The search does not need manifests that two of the next larger step follow. */
function isNeeded(number: number, last: number): boolean {
  const steps = [1, 32, 1_024, 32_768];
  const above = steps.find((step) => number % step !== 0);
  return above === undefined || last - number < 2 * above;
}

/** The number that is found, and how many questions that took. */
async function found(last: number, shown: number): Promise<readonly [number, number]> {
  let asked = 0;
  const store: Pick<ObjectStore, 'list' | 'size' | 'get'> = {
    list: async () => (shown === 0 ? [] : [manifestObject(DATABASE.id, shown)]),
    size: async (name) => {
      asked += 1;
      const number = numberIn(name);
      return number <= last && isNeeded(number, last) ? 1 : undefined;
    },
    get: async () => undefined,
  };
  const opened = await openArchive({ store: store as ObjectStore, newHash }, DATABASE.id);
  return [opened.last, asked];
}

it('finds the last manifest from any listing of earlier ones', async () => {
  const numbers = fc
    .oneof(fc.nat(100), fc.nat(5_000), fc.nat(300_000))
    .chain((last) => fc.tuple(fc.constant(last), fc.oneof(fc.constant(0), fc.constant(last), fc.nat(last))));
  const property = fc.asyncProperty(numbers, async ([last, shown]) => {
    const [number, asked] = await found(last, shown);
    expect(number).toBe(last);
    expect(asked).toBeLessThanOrEqual(4 + 31 + 31 + 31 + Math.ceil(300_000 / 32_768));
  });
  await fc.assert(property, { numRuns: 300 });
});

it('asks four questions when the listing is fresh', async () => {
  expect(await found(40_000, 40_000)).toEqual([40_000, 4]);
});

it('keeps the manifests that the search needs, and no others', () => {
  for (const last of [0, 1, 31, 32, 63, 64, 65, 127, 2_048, 2_049, 40_000, 65_536, 65_600, 100_003]) {
    const needed = Array.from({ length: last }, (_, index) => index + 1).filter((number) => isNeeded(number, last));
    expect([...keptNumbers(last)].toSorted((one, other) => one - other)).toEqual(needed);
  }
});
