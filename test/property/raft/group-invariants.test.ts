// Goal: each invariant of a group is detected when only that one is violated, and none in a correct group. Method:
// handwritten states of three replicas.
import { describe, expect, it } from 'vitest';
import { BrokenInvariant } from '#base';
import { type Entry, type Membership, membershipOf, type ReplicaId, toReplicaId } from '#raft';
import { checkGroup } from '../../support/raft/group-invariants.ts';
import { NOTHING_YET, type World } from '../../support/raft/world.ts';

const IDS = [1, 2, 3].map((n) => toReplicaId(n));
const ALL = membershipOf(IDS, []);
const ROOT = { index: 0, term: 0 };

interface Holder {
  /** The terms of its entries, or the entries. */
  readonly log: readonly (number | Entry)[];
  /** Number of entries on its disk; default all. */
  readonly onDisk?: number;
  readonly commit?: number;
  /** Current term of the replica; default that of its last entry. */
  readonly term?: number;
  readonly leads?: boolean;
}

interface Past {
  readonly committed?: readonly (number | Entry)[];
  /** Terms of the leaders that committed the entries; default those of the entries. */
  readonly committedIn?: readonly number[];
}

function entry(index: number, term: number, payload = 'p'): Entry {
  return { index, term, payload: Buffer.from(payload) } as unknown as Entry;
}

function logOf(said: Holder['log']): readonly Entry[] {
  return said.map((each, at) => (typeof each === 'number' ? entry(at + 1, each) : each));
}

function world(holders: readonly Holder[], { committed = [], committedIn }: Past = {}): World {
  const replicas = holders.map(({ log: said, onDisk, commit = 0, term, leads = false }, at) => {
    const log = logOf(said);
    const disk = { start: ROOT, entries: log.slice(0, onDisk), machine: { last: ROOT, membership: ALL } };
    const hardState = { term: term ?? log.at(-1)?.term ?? 0, vote: undefined };
    const inMemory = { base: ROOT, runs: log.length === 0 ? [] : [log], persisted: onDisk ?? log.length, bytes: 0 };
    const role = { kind: leads ? 'leader' : 'follower' };
    const state = { role, hardState, log: inMemory, commit, membership: ALL };
    return [IDS[at], { id: IDS[at], state, disk }] as const;
  });
  const entries = logOf(committed);
  const history = {
    ...NOTHING_YET,
    committed: entries,
    committedIn: committedIn ?? entries.map(({ term }) => term),
    committers: entries.map((): readonly Membership['voters'][] => [ALL.voters]),
  };
  return { replicas: new Map(replicas as unknown as [ReplicaId, never][]), history } as unknown as World;
}

function brokenBy(holders: readonly Holder[], past?: Past): string {
  try {
    checkGroup(world(holders, past));
    return 'nothing';
  } catch (failure) {
    if (failure instanceof BrokenInvariant) return failure.message.slice(0, 2);
    throw failure;
  }
}

/** A leader of term 2 with two followers, one of which lags; the first two entries are committed. */
const LEADER: Holder = { log: [1, 2, 2], commit: 2, leads: true };
const FOLLOWER: Holder = { log: [1, 2], commit: 1, term: 2 };
const BEHIND: Holder = { log: [1], commit: 1, term: 2 };
const PAST: Past = { committed: [1, 2] };

const ALL_OF_IT: Holder = { log: [1, 2], commit: 2 };
const UNSAVED: Holder = { ...ALL_OF_IT, onDisk: 1 };
const MORE: Holder = { ...BEHIND, log: [1, 2] };
const SHORT: Holder = { ...LEADER, log: [1, 2] };
const LATE: Holder = { log: [1], commit: 1, term: 3, leads: true };
/** Entry 2 is committed, but missing in the log of the leader of term 2. */
const COMMITTED_LATER: readonly Holder[] = [
  { ...LATE, term: 2 },
  { log: [1, 1], commit: 2, term: 3 },
  { log: [1, 1], commit: 2, term: 3 },
];

const CASES: readonly (readonly [rule: string, broken: string, holders: readonly Holder[], past: Past])[] = [
  ['a group that is well breaks nothing', 'nothing', [LEADER, FOLLOWER, BEHIND], PAST],
  // The same index with two terms: no vote can decide between the logs, and none of the replicas leads.
  ['of two committed logs one is a prefix', 'G1', [ALL_OF_IT, { log: [1, 3], commit: 2 }, BEHIND], PAST],
  ['a committed entry never changes', 'G1', [ALL_OF_IT, ALL_OF_IT, ALL_OF_IT], { committed: [1, 1] }],
  ['a term has one leader at a time', 'G2', [LEADER, LEADER, BEHIND], PAST],
  ['two terms may have one each', 'nothing', [LEADER, { ...LATE, term: 1 }, FOLLOWER], PAST],
  ['a leader holds every entry of its term', 'G3', [SHORT, { ...FOLLOWER, log: [1, 2, 2] }, BEHIND], PAST],
  ['an entry has one payload', 'G4', [LEADER, { ...FOLLOWER, log: [1, entry(2, 2, 'another')] }, MORE], PAST],
  ['logs with the same entry are the same up to it', 'G4', [LEADER, FOLLOWER, { ...BEHIND, log: [1, 1, 2] }], PAST],
  ['every quorum has a disk that holds what is committed', 'G5', [UNSAVED, UNSAVED, MORE], PAST],
  ['one disk of two is enough', 'nothing', [UNSAVED, FOLLOWER, MORE], PAST],
  ['a candidate holds what its voter knows', 'G6', [ALL_OF_IT, { log: [1, 3], commit: 1 }, FOLLOWER], PAST],
  ['a leader holds what was committed before its term', 'G7', [LATE, FOLLOWER, MORE], PAST],
  ['a leader of a later term committed it', 'nothing', COMMITTED_LATER, { committed: [1, 1], committedIn: [1, 3] }],
  ['a leader of its own term committed it', 'G7', COMMITTED_LATER, { committed: [1, 1], committedIn: [1, 1] }],
];

describe('checkGroup', () => {
  it.each(CASES)('%s: finds %s', (_rule, broken, holders, past) => {
    expect(brokenBy(holders, past)).toBe(broken);
  });

  it('G8: everything that a leader has committed is on the disks of a quorum of the voters at that time', () => {
    // Every quorum of two has a replica with the entry on disk, but the entry was committed by three voters, two of
    // which have it.
    const alone = [LEADER, { ...FOLLOWER, onDisk: 1 }, BEHIND];
    expect(brokenBy(alone, PAST)).toBe('G5');
    const said = world([LEADER, FOLLOWER, BEHIND], PAST);
    const others = membershipOf(IDS.slice(1), []).voters;
    const history = { ...said.history, committers: said.history.committed.map(() => [others]) };
    expect(() => checkGroup({ ...said, history })).toThrow('G8');
  });
});
