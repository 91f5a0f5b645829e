/**
 * Set arithmetic of voters: what a majority has agreed to. It knows nothing of terms, logs or roles.
 *
 * A voter set has two halves. Outside a membership change `outgoing` is empty; during one (joint consensus) every
 * decision needs a majority of both. A half without members agrees to anything, so that one formula serves both.
 */
import { assert, type LogIndex, type ReplicaId, toLogIndex } from '#base';

export { type ReplicaId, toReplicaId } from '#base';

export interface VoterSet {
  /** Those who vote now, or will alone once the change is complete. Not empty, no repetitions. */
  readonly incoming: readonly ReplicaId[];
  /** Those who voted before the change that is under way; empty when there is none. */
  readonly outgoing: readonly ReplicaId[];
}

export type VoteResult = 'won' | 'lost' | 'pending';

/** A set outside of any membership change. */
export function voterSet(replicas: readonly ReplicaId[]): VoterSet {
  assert(replicas.length > 0, 'A group has at least one voter');
  assert(new Set(replicas).size === replicas.length, 'A voter is named once', replicas);
  return { incoming: replicas, outgoing: [] };
}

/** Everybody who votes, each once, in the order of the two halves. */
export function members(voters: VoterSet): readonly ReplicaId[] {
  if (voters.outgoing.length === 0) return voters.incoming;
  return [...new Set([...voters.incoming, ...voters.outgoing])];
}

export function isVoter(voters: VoterSet, replica: ReplicaId): boolean {
  return voters.incoming.includes(replica) || voters.outgoing.includes(replica);
}

/**
 * The highest index that a quorum has reached (R4). `matchOf` gives what each voter is known to hold durably,
 * 0 when nothing is known.
 */
export function quorumIndex(voters: VoterSet, matchOf: (replica: ReplicaId) => LogIndex): LogIndex {
  return toLogIndex(quorumReached(voters, matchOf));
}

/** The highest number that a quorum has reached, of whatever each voter counts. */
export function quorumReached(voters: VoterSet, reachedBy: (replica: ReplicaId) => number): number {
  const incoming = majorityReached(voters.incoming, reachedBy);
  return voters.outgoing.length === 0 ? incoming : Math.min(incoming, majorityReached(voters.outgoing, reachedBy));
}

/** What an election amounts to; `voteOf` is undefined for a voter that has not answered. */
export function tally(voters: VoterSet, voteOf: (replica: ReplicaId) => boolean | undefined): VoteResult {
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
