/**
 * #raft: the consensus algorithm of one group, as a pure function.
 *
 *   step(state, input, now) -> { state, effects }
 *
 * For: elections, the log and its replication, commitment by quorum, membership, snapshots and read index. It does no
 * I/O, waits for nothing and reads no clock: completion of a disk write is an input (`persisted`), and so are a message
 * (`receive`) and the passing of time (`tick`). Payloads are opaque bytes. A group with one voter runs the same path as
 * any other: the voter set is data.
 *
 * Not here: what an entry means, where it is stored, how messages travel, how many groups there are.
 *
 * Invariants (test/support/raft checks them in code after every step of a test):
 *   R1  Base <= applied <= applying <= min(commit, persisted): each entry is emitted to be applied once, in order, and
 *       only when a quorum has it and this disk has it.
 *   R2  Persisted and committed entries exist in the log.
 *   R3  The log has no gaps and its terms never fall, nor exceed the current term.
 *   R4  A leader only appends, and commits only what a quorum reports durable, by an entry of its own term.
 *   R5  A read is answered by a leader that has committed in its term and was confirmed by a quorum after it arrived.
 *   R6  A disk completion counts only in the term in which its write was issued.
 *   R7  A term never goes back, a replica votes once in a term, and its own vote counts once it is on disk.
 *   R8  A step that changes term, vote or log also emits the effect that persists it.
 *   R9  A promise is sent once it is on disk: a vote, a request for votes, an acknowledgement of entries.
 *   R10 Committed entries are never overwritten, and a follower acknowledges only entries verified to be its leader's.
 *   R11 The membership in effect is the last committed one; at most one uncommitted one is in the log, a neighbour of
 *       it, appended by a leader that had committed in its own term.
 *   R12 A leader's match index of a member grows until the member denies it; data in flight is within the window.
 *   R13 A term has one leader; a replica that knows a leader of the term ignores any other.
 *   R14 Heartbeats of an idle replica may be recorded and applied later in bulk: the resulting state is the same.
 */

export { type Config, REPLICATION } from './config.ts';
export type { Effect, Fact, HardState, LoadEntries, MembershipRefusal, Persist, Proposed, Refusal } from './effect.ts';
export { type Entry, type EntryId, ORIGIN, type Snapshot } from './entry.ts';
export { nextBeat, nextBeatAt } from './heartbeats.ts';
export type { EntriesLoaded, Input, InputKind, Persisted } from './input.ts';
export { entriesOf, lastId } from './log.ts';
export { everybody, isAt, isJoint, type Membership, membershipOf, type Target } from './membership.ts';
export { decodeMembership, encodeMembership } from './membership-bytes.ts';
export { changeInTheWay, type MemberState, memberStateOf } from './membership-change.ts';
export type { BeatAck, Message } from './message.ts';
export type { Progress } from './progress.ts';
export {
  isVoter,
  members,
  quorumIndex,
  type ReplicaId,
  toReplicaId,
  type VoterSet,
  voteResult,
  voterSet,
} from './quorum.ts';
export { step } from './raft.ts';
export {
  type AnswersHeard,
  answerTo,
  hearsEverybody,
  leadsAtRest,
  repeatsAnswer,
  repeatsBeat,
  withAnswersHeard,
  withBeatsHeard,
} from './rest.ts';
export type { Follower, Leader, Peer, Role } from './role.ts';
export { openReplica, type RaftState, type Recovered, type Step } from './state.ts';
export { nextDeadline } from './timers.ts';
