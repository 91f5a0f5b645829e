/**
 * #raft: the consensus algorithm of one group, as a pure function.
 *
 *   step(state, input, now) -> { state, effects }
 *
 * For: elections, the log, commitment by quorum, and read index. It does no I/O, waits for nothing and reads no clock:
 * completion of a disk write is an input (`persisted`), and so is the passing of time (`tick`). Payloads are opaque
 * bytes. A group with one voter runs the same path as any other: the voter set is data.
 *
 * Not here: what an entry means, where it is stored, how messages travel, how many groups there are.
 *
 * Invariants (invariants.ts states them as code, tests run it after every step):
 *   R1  Base <= applied <= applying <= min(commit, persisted): an entry is handed out to be applied once, in order, and
 *       only when a quorum has it and this disk has it.
 *   R2  Persisted and committed entries exist in the log.
 *   R3  The log has no gaps and its terms never fall, nor exceed the current term.
 *   R4  A leader only appends, and commits only what a quorum reports durable, by an entry of its own term.
 *   R5  A read is answered by a leader that has committed in its term and whose leadership a quorum confirmed after
 *       the read arrived.
 *   R6  A disk completion counts only in the term in which its write was issued.
 *   R7  A term never goes back, a replica votes once in a term, and its own vote counts once it is on disk.
 *   R8  Whatever changes term, vote or log asks for it to be persisted in the same step.
 */
export type { Effect, Fact, HardState, Message, Persist, Proposed, Refusal } from './effect.ts';
export type { Input, InputKind } from './input.ts';
export { checkState, checkStep } from './invariants.ts';
export { type Entry, type EntryId, lastId, ORIGIN } from './log.ts';
export {
  isVoter,
  members,
  quorumIndex,
  type ReplicaId,
  tally,
  toReplicaId,
  type VoteResult,
  type VoterSet,
  voterSet,
} from './quorum.ts';
export { step } from './raft.ts';
export {
  type Candidate,
  type Config,
  type Follower,
  type Leader,
  openReplica,
  type RaftState,
  type Recovered,
  type Role,
  type Step,
} from './state.ts';
export { nextDeadline } from './timers.ts';
