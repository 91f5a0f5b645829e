// Invariants of a group as a whole, from etcd's specification of Raft. They are checked in every state on the logs in
// memory, or on disk for replicas that are down. The checks share no code with the core; they count majorities
// themselves. Entries are equal when their term, payload and membership are.
//
//   G1 of two committed logs, one is a prefix of the other, and of everything that was ever committed
//   G2 a term has at most one leader at a time
//   G3 an entry of a leader's term in any log is also in the leader's log
//   G4 two logs with the same entry are equal up to that entry
//   G5 every quorum has a disk with all committed entries
//   G6 a candidate that a replica would vote for has everything that the replica knows to be committed
//   G7 everything that a leader has committed is in the log of every leader of a later term
//   G8 everything that a leader has committed is on the disks of a quorum of the voters at that time
import { assert } from '#base';
import type { Entry, Membership, RaftState, ReplicaId } from '#raft';
import type { History, Replica, World } from './world.ts';

interface View {
  readonly id: ReplicaId;
  readonly log: readonly Entry[];
  readonly disk: readonly Entry[];
  readonly commit: number;
  readonly membership: Membership;
  readonly state: RaftState | undefined;
}

export function checkGroup(world: World): void {
  const views = [...world.replicas.values()].map((replica) => viewOf(world.history.committed, replica));
  for (const one of views) {
    for (const other of views) if (one.id !== other.id) checkPair(one, other);
    const isKept = agree(one.log, world.history.committed, one.commit);
    assert(isKept, 'G1: what is committed is what was committed', [one.id, one.commit]);
    checkLeader(one, world.history);
    checkDisks(one, views, world.history);
  }
}

function checkPair(one: View, other: View): void {
  const both = Math.min(one.commit, other.commit);
  assert(agree(one.log, other.log, both), 'G1: committed logs are prefixes of one another', [one.id, other.id]);
  checkLogMatching(one, other);
  const mine = one.log.at(-1) ?? { index: 0, term: 0 };
  const theirs = other.log.at(-1) ?? { index: 0, term: 0 };
  const isUpToDate = mine.term > theirs.term || (mine.term === theirs.term && mine.index >= theirs.index);
  const holds = one.log.length >= other.commit && agree(one.log, other.log, other.commit);
  assert(!isUpToDate || holds, 'G6: a vote goes to who holds what is committed', [one.id, other.id, other.commit]);
  if (one.state?.role.kind !== 'leader') return;
  const { term } = one.state.hardState;
  const leads = other.state?.role.kind === 'leader' && other.state.hardState.term === term;
  assert(!leads, 'G2: a term has one leader at a time', [one.id, other.id, term]);
  const newest = other.log.findLast((entry) => entry.term === term)?.index ?? 0;
  assert(newest <= one.log.length, 'G3: a leader holds the last entry of its term', [one.id, other.id, newest]);
}

/**
 * The relevant term is that of the leader that committed an entry, not that of the entry: an entry of term 1 that a
 * leader of term 3 commits may be missing from the log of a leader of term 2.
 */
function checkLeader({ id, log, state }: View, { committed, committedIn }: History): void {
  if (state?.role.kind !== 'leader') return;
  const { term } = state.hardState;
  const earlier = committedIn.filter((committing) => committing < term).length;
  const isComplete = log.length >= earlier && agree(log, committed, earlier);
  assert(isComplete, 'G7: a leader holds what was committed before its term', [id, term, earlier]);
}

function checkLogMatching(one: View, other: View): void {
  const both = Math.min(one.log.length, other.log.length);
  let parted = false;
  for (let at = 0; at < both; at += 1) {
    const isNamedAlike = one.log[at]?.term === other.log[at]?.term;
    const isSame = areSame(one.log[at], other.log[at]);
    assert(!isNamedAlike || (isSame && !parted), 'G4: logs that hold the same entry are the same up to there', [
      one.id,
      other.id,
      at + 1,
    ]);
    parted ||= !isSame;
  }
}

function checkDisks(one: View, views: readonly View[], { committers }: History): void {
  const holders = new Set<ReplicaId>();
  for (const { id, disk } of views) {
    if (disk.length >= one.commit && agree(disk, one.log, one.commit)) holders.add(id);
  }
  // Every quorum contains such a disk exactly when the replicas without the entries are no quorum.
  const isLacking = isQuorum(one.membership.voters, (voter) => !holders.has(voter));
  assert(!isLacking, 'G5: every quorum has a disk that holds what is committed', [one.id, one.commit]);
  if (one.state?.role.kind !== 'leader') return;
  const { [one.commit - 1]: sets = [] } = committers;
  const durable = one.commit === 0 || sets.some((voters) => isQuorum(voters, (voter) => holders.has(voter)));
  assert(durable, 'G8: what a leader commits is on the disks of a quorum', [one.id, one.commit]);
}

/** More than half of each non-empty half of the membership. */
function isQuorum({ incoming, outgoing }: Membership['voters'], belongs: (voter: ReplicaId) => boolean): boolean {
  return [incoming, outgoing].every((half) => half.length === 0 || 2 * half.filter(belongs).length > half.length);
}

function agree(one: readonly Entry[], other: readonly Entry[], count: number): boolean {
  for (let at = count - 1; at >= 0; at -= 1) if (!areSame(one[at], other[at])) return false;
  return true;
}

function areSame(one: Entry | undefined, other: Entry | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined || one.term !== other.term) return false;
  if (one.payload.length !== other.payload.length || one.payload.some((byte, at) => byte !== other.payload[at])) {
    return false;
  }
  return one.membership === other.membership || textOf(one.membership) === textOf(other.membership);
}

function textOf(membership: Membership | undefined): string {
  if (membership === undefined) return 'none';
  const { voters, learners, learnersNext } = membership;
  return [voters.incoming, voters.outgoing, learners, learnersNext].map((ids) => ids.join(' ')).join('|');
}

function viewOf(committed: readonly Entry[], { id, state, disk }: Replica): View {
  const onDisk = [...committed.slice(0, disk.start.index), ...disk.entries];
  if (state === undefined) {
    const { last, membership } = disk.machine;
    return { id, log: onDisk, disk: onDisk, commit: last.index, membership, state };
  }
  const { log, commit, membership } = state;
  const inMemory = [...committed.slice(0, log.base.index), ...log.runs.flat()];
  return { id, log: inMemory, disk: onDisk, commit, membership, state };
}
