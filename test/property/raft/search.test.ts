// Goal: in a small scope nothing at all breaks an invariant of #raft or of the group. Method: small scopes to their
// end, the first states of larger ones (npm run search goes on), and broken cores, which it must find.

import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import { membershipOf, ORIGIN, type ReplicaId, toReplicaId } from '#raft';
import {
  acknowledgesEarly,
  acknowledgesUnverified,
  asksOneHalf,
  changesEarly,
  commitsBeforeItsDisk,
  commitsEarlierTerms,
  votesEarly,
  votesForAnyLog,
  votesTwice,
} from '../../support/raft/broken-cores.ts';
import { Keys } from '../../support/raft/keys.ts';
import { renamings, replay, type Scope, search } from '../../support/raft/search.ts';
import { KeySet } from '../../support/raft/visited.ts';
import { configOf, parseEntries } from '../../support/raft/words.ts';
import { type Core, give, worldOf } from '../../support/raft/world.ts';
import { IS_LONG } from '../../support/runs.ts';

const BASE: Scope = {
  voters: 3,
  learners: 0,
  terms: 2,
  proposals: 1,
  crashes: 1,
  change: undefined,
  disks: 'any',
  late: undefined,
  statesMax: 200_000,
};
const ALONE = { voters: [toReplicaId(1)], learners: [] };
const CHANGE = { voters: [1, 2].map(toReplicaId), learners: [] };

/** All that the other scopes have one by one; whole as far as few messages are late. */
const EVERYTHING: Scope = {
  ...BASE,
  terms: 3,
  proposals: 3,
  change: CHANGE,
  disks: 'prompt',
  statesMax: 300_000,
};

/** The gate leaves the last two out. */
const LARGE_SCOPES = 2;
/** Each is seen to its end. */
const WHOLE: readonly (readonly [string, Scope])[] = [
  [
    'one voter, three terms, three proposals and two crashes',
    { ...BASE, voters: 1, terms: 3, proposals: 3, crashes: 2 },
  ],
  ['two voters, one term, a proposal and a crash', { ...BASE, voters: 2, terms: 1 }],
  ['three voters, one term and a crash', { ...BASE, terms: 1, proposals: 0 }],
  ['three voters and two terms', { ...BASE, proposals: 0, crashes: 0 }],
  ['three voters that become two', { ...BASE, terms: 1, proposals: 0, crashes: 0, change: CHANGE }],
  ['two voters that become one', { ...BASE, voters: 2, terms: 1, proposals: 0, crashes: 0, change: ALONE }],
  ['everything at once, with prompt disks and no message late', { ...EVERYTHING, late: 0 }],
  ['the same in two terms with one proposal, a message late', { ...EVERYTHING, terms: 2, proposals: 1, late: 1 }],
  ['two terms and a proposal, with prompt disks', { ...BASE, crashes: 0, disks: 'prompt' }],
];

/** Of each the first states are seen. */
const PART: readonly (readonly [string, Scope])[] = [
  ['three terms, three proposals and a crash', { ...BASE, terms: 3, proposals: 3, statesMax: 20_000 }],
  [
    'three terms, three proposals, a crash and a change',
    { ...BASE, terms: 3, proposals: 3, change: CHANGE, statesMax: 20_000 },
  ],
];

const BROKEN: readonly (readonly [string, Core, Scope, string])[] = [
  ['sends a vote before it is on disk', votesEarly, { ...BASE, crashes: 0 }, 'R9'],
  ['votes for whoever asks', votesTwice, { ...BASE, terms: 1, crashes: 0 }, 'R7'],
  ['acknowledges entries before they are on disk', acknowledgesEarly, { ...BASE, terms: 1, crashes: 0 }, 'G5'],
  [
    'acknowledges what no append has verified',
    acknowledgesUnverified,
    { ...BASE, voters: 2, terms: 1, proposals: 1 },
    'R10',
  ],
  ['votes for any log', votesForAnyLog, { ...BASE, proposals: 0, crashes: 0 }, 'G6'],
  ['counts entries before its own disk has them', commitsBeforeItsDisk, { ...BASE, terms: 1, crashes: 0 }, 'G5'],
  ['commits an entry of an earlier term', commitsEarlierTerms, { ...BASE, voters: 2, proposals: 0, crashes: 0 }, 'R4'],
  [
    'changes members before it has committed in its term',
    changesEarly,
    { ...BASE, terms: 1, proposals: 0, crashes: 0, change: CHANGE },
    'R11',
  ],
  [
    'asks one half only while a change is under way',
    asksOneHalf,
    { ...BASE, voters: 2, terms: 2, proposals: 0, crashes: 0, change: ALONE },
    'R11',
  ],
];

describe('search', () => {
  it.each(IS_LONG ? WHOLE : WHOLE.slice(0, -LARGE_SCOPES))(
    'finds nothing broken in any state of %s',
    { timeout: 60_000 },
    (_, scope) => {
      const found = search(scope);
      expect(found.broken).toBeUndefined();
      expect(found.isComplete).toBe(true);
    },
  );

  it.each(PART)('finds nothing broken in the first states of %s', (_, scope) => {
    const found = search(scope);
    expect(found.broken).toBeUndefined();
    expect(found.states).toBeGreaterThanOrEqual(scope.statesMax);
  });

  it.each(BROKEN)('finds the way to a core that %s, which can be gone again', (_, core, scope, invariant) => {
    const { broken } = search(scope, { core });
    expect(broken?.message).toContain(invariant);
    expect(replay(scope, broken?.path ?? [], core)).toBe(broken?.message);
  });
});

describe('a key', () => {
  it('is the same for worlds that differ in who is who, and for no others', () => {
    const names = renamings(BASE);
    expect(names).toHaveLength(6);
    const keys = new Keys(names);
    const world = worldOf(
      IDS.map((self) => ({
        config: { ...configOf(self, new Map()), electionJitterMs: 0 },
        membership: membershipOf(IDS),
      })),
    );
    const campaigned = IDS.map((id) => give(world, id, { kind: 'receive', from: otherThan(id), message: ORDER }).world);
    const [first, ...others] = campaigned.map((each) => keys.of(each, []));
    expect(others).toEqual([first, first]);
    expect(keys.of(world, [])).not.toEqual(first);
    expect(keys.of(world, [1])).not.toEqual(keys.of(world, [0]));
  });

  it('differs for entries of the same place and term that hold something else', () => {
    const keys = new Keys(renamings(BASE));
    const [one, other, again] = ['a', 'b', 'a'].map((letter) => {
      const entries = parseEntries(ORIGIN, `1:${letter}`);
      const message = { kind: 'append', term: toTerm(1), previous: ORIGIN, entries, commit: toLogIndex(0) } as const;
      return keys.ofEnvelope({ from: toReplicaId(1), to: toReplicaId(2), message });
    });
    expect(one).not.toBe(other);
    expect(one).toBe(again);
  });

  it('is kept once by a set that grows', () => {
    const set = new KeySet();
    const added = Array.from({ length: 200_000 }, (_, at) => set.add(1, Math.imul(at % 100_000, 0x9e3779b1) >>> 0));
    expect(added.filter(Boolean)).toHaveLength(100_000);
    expect(set.size).toBe(100_000);
  });
});

const IDS = [1, 2, 3].map(toReplicaId);
const ORDER = { kind: 'timeout-now', term: toTerm(0) } as const;

function otherThan(id: ReplicaId): ReplicaId {
  return toReplicaId((id % 3) + 1);
}
