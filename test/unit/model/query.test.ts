// Goal: positions have one order. Method: given positions.
import { expect, it } from 'vitest';
import { comparePositions } from '#model';

it('a Position is ordered by revision, then index', () => {
  const sorted = [
    { revision: 1, index: 9 },
    { revision: 2, index: 0 },
    { revision: 2, index: 1 },
  ];
  expect(sorted.toReversed().toSorted(comparePositions)).toEqual(sorted);
});
