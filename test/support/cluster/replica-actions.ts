/** What can happen to a database on several nodes: the alphabet of random schedules. Nodes are counted from 0 on. */
import * as fc from 'fast-check';

export type Action =
  | { readonly kind: 'write'; readonly at: number; readonly isAtLeader: boolean; readonly count: number }
  | { readonly kind: 'read'; readonly at: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'cut'; readonly at: number; readonly from: number }
  | { readonly kind: 'isolate'; readonly at: number }
  | { readonly kind: 'heal' }
  | { readonly kind: 'loss'; readonly percent: number }
  | { readonly kind: 'disk'; readonly at: number; readonly isHeld: boolean }
  | { readonly kind: 'crash'; readonly at: number; readonly torn: number; readonly survives: readonly boolean[] }
  | { readonly kind: 'start'; readonly at: number }
  | { readonly kind: 'place'; readonly nodes: readonly number[] }
  | { readonly kind: 'want'; readonly voters: readonly number[]; readonly learners: readonly number[] };

const index = fc.nat(4);
/** What can happen. */
export const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      at: index,
      isAtLeader: fc.boolean(),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), at: index }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 500, max: 4000 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: index, from: index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('isolate' as const), at: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('loss' as const), percent: fc.constantFrom(0, 5, 30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('disk' as const), at: index, isHeld: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      at: index,
      torn: fc.nat(2),
      survives: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('start' as const), at: index }) },
);
/** Other nodes are to be the members: two at least, for one alone keeps nothing for those who come later. */
const want = fc
  .record({
    kind: fc.constant('want' as const),
    voters: fc.uniqueArray(index, { minLength: 2, maxLength: 5 }),
    learners: fc.uniqueArray(index, { maxLength: 1 }),
  })
  .map(({ kind, voters, learners }) => ({ kind, voters, learners: learners.filter((each) => !voters.includes(each)) }));

/** What can happen while members come and go. */
export const movingAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 36, arbitrary: action },
  { weight: 3, arbitrary: want },
);

const place = fc.record({
  kind: fc.constant('place' as const),
  nodes: fc.uniqueArray(index, { minLength: 1, maxLength: 4 }),
});

/** What can happen while copies come and go. */
export const placingAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 36, arbitrary: action },
  { weight: 3, arbitrary: place },
);
