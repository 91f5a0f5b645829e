// Goal: a membership is decoded from its bytes, other bytes are rejected, and a replica starts with the applied
// membership (R11). Method: random memberships and bytes; each position of its entry.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_BYTES, toLogIndex, toTerm } from '#base';
import { decodeMembership, type Entry, encodeMembership, membershipOf, toReplicaId } from '#raft';
import { openFirstReplica } from '../../support/raft/first-replica.ts';
import { checkState } from '../../support/raft/state-invariants.ts';

it('bytes of a membership are rejected or decoded completely, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 30 }), (bytes) => {
      const decoded = decodeMembership(bytes);
      if (typeof decoded === 'string') return;
      expect(decodeMembership(encodeMembership(decoded))).toEqual(decoded);
    }),
  );
  expect(decodeMembership(NO_BYTES)).toMatch('four lists');
  expect(decodeMembership(Uint8Array.of(0, 0, 0, 0))).toBe('a group has at least one voter');
});

interface Found {
  /** Log index of the entry with the applied membership, when it is after the base. */
  readonly at?: number;
  readonly last: number;
}

interface Held {
  readonly held: number;
  readonly open: readonly number[];
  readonly commit: number;
}

describe('a replica that starts (R11)', () => {
  const members = [[], [2], [2, 3]].map((learners) => membershipOf([toReplicaId(1)], learners.map(toReplicaId)));

  /** Entries 4 to 8. The entries at 5 and 7 carry the second and the third membership. */
  const entries: readonly Entry[] = [4, 5, 6, 7, 8].map((index) => {
    const entry = { index: toLogIndex(index), term: toTerm(1), payload: NO_BYTES };
    const membership = members[(index - 3) / 2];
    return index % 2 === 1 && membership !== undefined ? { ...entry, membership } : entry;
  });

  it.each([
    ['at its base, when nothing newer is known to be committed', { last: 5 }, { held: 0, open: [1], commit: 3 }],
    ['in the log before the last', { last: 8 }, { held: 1, open: [2], commit: 5 }],
    ['after its base, because it was applied before', { at: 5, last: 6 }, { held: 1, open: [], commit: 5 }],
    ['after its base, with another that is open', { at: 5, last: 8 }, { held: 1, open: [2], commit: 5 }],
    ['after its base, as the last of the log', { at: 7, last: 8 }, { held: 2, open: [], commit: 7 }],
  ] as readonly [string, Found, Held][])('holds the membership %s', (_name, { at, last }, { held, open, commit }) => {
    const membership = members[((at ?? 3) - 3) / 2] ?? membershipOf([toReplicaId(1)]);
    const recovered = {
      hardState: { term: toTerm(1), vote: undefined },
      base: { index: toLogIndex(3), term: toTerm(1) },
      entries: entries.filter(({ index }) => index <= last),
      ...(at !== undefined && { membershipIndex: toLogIndex(at) }),
    };
    const state = openFirstReplica(membership, recovered);
    checkState(state);
    expect(state.membership).toEqual(members[held]);
    expect(state.changes.map((change) => members.indexOf(change.membership))).toEqual(open);
    expect(state.commit).toBe(commit);
  });
});
