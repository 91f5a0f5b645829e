/** Runs more seeds of each mode than the gate has time for (seeds.test.ts). */
import { describeSeeds, seedsFrom } from './seeds.ts';

describeSeeds('more seeds of each mode', [
  ...seedsFrom(1, 90, { nodes: 1 }),
  ...seedsFrom(1, 12, { nodes: 1, aimed: true }),
  ...seedsFrom(1, 50, { nodes: 3 }),
  ...seedsFrom(1, 16, { nodes: 3, aimed: true }),
  ...seedsFrom(31, 6, { nodes: 5 }),
  ...[45, 52, 77, 100].map((seed) => [seed, { nodes: 5 }] as const),
  ...seedsFrom(1, 8, { nodes: 5, aimed: true }),
  ...seedsFrom(201, 4, { nodes: 7 }),
  ...seedsFrom(301, 2, { nodes: 7, aimed: true }),
  ...seedsFrom(1, 16, { nodes: 3, lanes: true }),
  ...seedsFrom(1, 8, { nodes: 3, lanes: true, aimed: true }),
  ...seedsFrom(1, 16, { nodes: 3, definitions: true }),
  ...seedsFrom(1, 12, { nodes: 3, times: true }),
  ...seedsFrom(1, 8, { nodes: 1, cuts: true }),
  ...seedsFrom(1, 8, { nodes: 3, cuts: true }),
]);
