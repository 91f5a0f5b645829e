// Goal: a node has caught up when each of its groups has the entries that the leader had at its first heartbeat, and no
// group delays it for ever. Method: groups and a clock with given states.
import { expect, it } from 'vitest';
import { replicaOf, toLogIndex, toNodeId, toTerm } from '#base';
import type { Message } from '#raft';
import { CatchUp } from '../../../../src/cluster/core/catch-up.ts';
import type { Group } from '../../../../src/cluster/group/group.ts';

const LEADER = replicaOf(toNodeId(2));
const OTHER = replicaOf(toNodeId(3));

type Watched = {
  -readonly [K in 'isOpen' | 'isAlone' | 'isAtRest' | 'isDiverged' | 'isReady' | 'leader']: Group[K];
} & {
  written: Group['written'];
};

function follower(more: Partial<Watched> = {}): Watched {
  const [isOpen, isAlone, isAtRest, isDiverged, isReady] = [true, false, false, false, false];
  return { isOpen, isAlone, isAtRest, isDiverged, isReady, leader: LEADER, written: writtenTo(10), ...more };
}

function writtenTo(index: number): Group['written'] {
  return { index: toLogIndex(index) } as Group['written'];
}

function beat(commit: number): Message {
  return { kind: 'beat', term: toTerm(1), commit: toLogIndex(commit), round: 0 };
}

function watching(...groups: readonly Watched[]): CatchUp<Watched> {
  const catchUp = new CatchUp<Watched>();
  catchUp.begin(groups, 1_000);
  return catchUp;
}

it('waits for the entries of the first heartbeat of the leader, and not for later ones', () => {
  const group = follower();
  const catchUp = watching(group);
  expect(catchUp.count(1_000)).toBe(1);
  catchUp.heard(group, { from: LEADER, message: beat(20) });
  catchUp.heard(group, { from: LEADER, message: beat(30) });
  group.written = writtenTo(19);
  expect(catchUp.count(2_000)).toBe(1);
  group.written = writtenTo(20);
  expect(catchUp.count(2_000)).toBe(0);
});

it('waits for replicas that begin meanwhile, and not for later ones', () => {
  const [group, begun, later] = [follower(), follower({ written: writtenTo(0) }), follower()];
  const catchUp = watching(group);
  catchUp.began(begun);
  catchUp.heard(group, { from: LEADER, message: beat(10) });
  expect(catchUp.count(2_000)).toBe(1);
  catchUp.heard(begun, { from: LEADER, message: beat(5) });
  expect(catchUp.count(2_000)).toBe(1);
  begun.written = writtenTo(5);
  expect(catchUp.count(2_000)).toBe(0);
  catchUp.began(later);
  expect(catchUp.count(2_000)).toBe(0);
});

it('ignores heartbeats of other nodes than the leader', () => {
  const group = follower();
  const catchUp = watching(group);
  catchUp.heard(group, { from: OTHER, message: beat(5) });
  expect(catchUp.count(2_000)).toBe(1);
});

it.each<readonly [string, Partial<Watched>]>([
  ['leads', { isReady: true }],
  ['is at rest', { isAtRest: true }],
  ['is deleted', { isOpen: false }],
  ['holds another history', { isDiverged: true }],
])('does not wait for a group that %s', (_case, state) => {
  expect(watching(follower(state)).count(1_000)).toBe(0);
});

it('waits for nothing in a group with only this node', () => {
  expect(watching(follower({ isAlone: true })).count(1_000)).toBe(0);
});

it('ignores a silent leader after 15 s, and a group without progress after two minutes', () => {
  const [silent, stuck] = [follower({ leader: undefined }), follower()];
  const catchUp = watching(silent, stuck);
  catchUp.heard(stuck, { from: LEADER, message: beat(20) });
  expect([15_999, 16_000, 120_999, 121_000].map((nowMs) => catchUp.count(nowMs))).toEqual([2, 1, 1, 0]);
});
