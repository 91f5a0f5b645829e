/**
 * Quorums of a voter set, independent of terms, logs and roles.
 *
 * A voter set has two halves. Outside a membership change `outgoing` is empty; during one (joint consensus) every
 * decision needs a majority of both. An empty half agrees to everything, so that one formula serves both cases.
 */
import { assert, type LogIndex, type ReplicaId, toLogIndex } from '#base';

export { type ReplicaId, toReplicaId } from '#base';

export interface VoterSet {
  /** Current voters, or those after the change that is under way. Not empty, no duplicates. */
  readonly incoming: readonly ReplicaId[];
  /** Voters before the change that is under way; empty when there is none. */
  readonly outgoing: readonly ReplicaId[];
}

export type VoteResult = 'won' | 'lost' | 'pending';

/** A set outside of a membership change. */
export function voterSet(replicas: readonly ReplicaId[]): VoterSet {
  assert(replicas.length > 0, 'A group has at least one voter');
  assert(new Set(replicas).size === replicas.length, 'A voter is named once', replicas);
  return { incoming: replicas, outgoing: [] };
}

/** All voters without duplicates, in the order of the two halves. */
export function members(voters: VoterSet): readonly ReplicaId[] {
  if (voters.outgoing.length === 0) return voters.incoming;
  return [...new Set([...voters.incoming, ...voters.outgoing])];
}

export function isVoter(voters: VoterSet, replica: ReplicaId): boolean {
  return voters.incoming.includes(replica) || voters.outgoing.includes(replica);
}

/**
 * The highest index that a quorum has reached (R4). `matchOf` gives the highest index known to be durable at each
 * voter, or 0.
 */
export function quorumIndex(voters: VoterSet, matchOf: (replica: ReplicaId) => LogIndex): LogIndex {
  return toLogIndex(quorumReached(voters, matchOf));
}

/** The highest number that a quorum has reached. */
export function quorumReached(voters: VoterSet, reachedBy: (replica: ReplicaId) => number): number {
  const incoming = majorityReached(voters.incoming, reachedBy);
  return voters.outgoing.length === 0 ? incoming : Math.min(incoming, majorityReached(voters.outgoing, reachedBy));
}

/** The result of an election; `voteOf` is undefined for a voter that has not answered. */
export function voteResult(voters: VoterSet, voteOf: (replica: ReplicaId) => boolean | undefined): VoteResult {
  const incoming = majorityVote(voters.incoming, voteOf);
  const outgoing = majorityVote(voters.outgoing, voteOf);
  if (incoming === 'lost' || outgoing === 'lost') return 'lost';
  return incoming === 'won' && outgoing === 'won' ? 'won' : 'pending';
}

function majorityReached(half: readonly ReplicaId[], reachedBy: (replica: ReplicaId) => number): number {
  const [only] = half;
  if (half.length === 1 && only !== undefined) return reachedBy(only);
  const descending = half.map(reachedBy).toSorted((a, b) => b - a);
  const reached = descending[Math.floor(half.length / 2)];
  assert(reached !== undefined, 'A majority of a half lies inside it');
  return reached;
}

function majorityVote(half: readonly ReplicaId[], voteOf: (replica: ReplicaId) => boolean | undefined): VoteResult {
  const needed = Math.floor(half.length / 2) + 1;
  let granted = 0;
  let unanswered = 0;
  for (const replica of half) {
    const vote = voteOf(replica);
    if (vote === undefined) unanswered += 1;
    if (vote === true) granted += 1;
  }
  if (half.length === 0 || granted >= needed) return 'won';
  return granted + unanswered >= needed ? 'pending' : 'lost';
}
