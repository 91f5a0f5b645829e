/**
 * A leader: appends entries, counts replicas, and commits.
 *
 * It starts its term with a no-op: an entry of an earlier term is committed only by committing a later one of its own
 * term (the paper's Figure 8), and until then the leader does not know its commit index (R4, R5). Its own disk is one
 * voter among the others: an entry commits when a quorum reports it durable, not when it is appended.
 */
import { assert, type LogIndex, unreachable } from '#base';
import { owe } from './become-follower.ts';
import { believe, ignoreCompletion } from './durability.ts';
import type { Effect, Refusal } from './effect.ts';
import type { EntryId } from './entry.ts';
import { beat, takeBeatAck } from './heartbeats.ts';
import type { Persisted, RoleInput, SnapshotSent } from './input.ts';
import { advance, appendEntries } from './leader-steps.ts';
import { lastId } from './log.ts';
import { changeMembership } from './membership-change.ts';
import type { FollowerMessage } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { addRead, confirmReads } from './read-index.ts';
import { ignoreCampaign, refuseProposals } from './refusals.ts';
import { hear, progressed, replicate, takeLoaded, takeRejection } from './replication.ts';
import type { Leader } from './role.ts';
import { andThen, nextEntries, nextIndex, type RaftState, type Step, unchanged } from './state.ts';
import { isDue } from './timers.ts';
import { giveUpTransfer, startTransfer } from './transfer.ts';

export function stepLeader(state: RaftState, role: Leader, input: RoleInput, nowMs: number): Step {
  switch (input.kind) {
    case 'tick':
      return tick(state, nowMs);
    case 'campaign':
      return ignoreCampaign(state, 'leading');
    case 'forget-leader':
      return unchanged(state);
    case 'propose':
      return propose(state, role, input.payloads);
    case 'read':
      return addRead(state, input.id, undefined);
    case 'persisted':
      return countOwnDisk(state, input, nowMs);
    case 'change-membership':
      return changeMembership(state, input, nowMs);
    case 'transfer-leadership':
      return startTransfer(state, input.to, nowMs);
    case 'entries-loaded':
      return takeLoaded(state, input);
    case 'snapshot-sent':
      return replicate(progressed(state, input.replica, outcome(input)));
    case 'unreachable':
      return replicate(progressed(state, input.replica, { kind: 'unreachable' }));
    default:
      return unreachable(input);
  }
}

/** Handles a message of this term from a member of the group. */
export function hearFollower(state: RaftState, from: ReplicaId, message: FollowerMessage, nowMs: number): Step {
  const heard = hear(state, from, nowMs);
  if (heard === undefined) return unchanged(state);
  switch (message.kind) {
    case 'append-ack': {
      const { match } = message;
      if (match > lastId(state.log).index) return leaveLead(heard, match, nowMs);
      return advance(progressed(heard, from, { kind: 'acknowledged', match }), nowMs);
    }
    case 'append-reject':
      return andThen(takeRejection(heard, from, message), replicate);
    case 'beat-ack': {
      const resumed = progressed(heard, from, { kind: 'beat-acknowledged' });
      return andThen(replicate(takeBeatAck(resumed, from, message)), confirmReads);
    }
    case 'read-request':
      return addRead(heard, message.id, from);
    default:
      return unreachable(message);
  }
}

/** Steps down: a member has more of this leader's own entries than itself, so this disk was restored. */
function leaveLead(state: RaftState, index: LogIndex, nowMs: number): Step {
  const acknowledged: EntryId = { index, term: state.hardState.term };
  const fact: Effect = { kind: 'fact', fact: { kind: 'acknowledged-lost', replica: state.config.self, acknowledged } };
  return andThen({ state, effects: [fact] }, (told) => owe(told, acknowledged, nowMs));
}

function tick(state: RaftState, nowMs: number): Step {
  const givenUp = isDue(state.timers, 'transfer', nowMs)
    ? andThen(giveUpTransfer(state), (resumed) => advance(resumed, nowMs))
    : unchanged(state);
  return isDue(state.timers, 'beat', nowMs) ? andThen(givenUp, (beating) => beat(beating, nowMs)) : givenUp;
}

/** Appends as many payloads as the limit of uncommitted bytes allows, at least one when there are none. */
function propose(state: RaftState, role: Leader, payloads: readonly Uint8Array[]): Step {
  if (role.transfer !== undefined) return refuseProposals(state, { kind: 'transferring', to: role.transfer.to });
  const { uncommittedBytesMax } = state.config;
  let bytes = role.uncommittedBytes;
  let accepted = 0;
  for (const payload of payloads) {
    assert(payload.length > 0, 'A proposal is not empty');
    if (bytes > 0 && bytes + payload.length > uncommittedBytesMax) break;
    bytes += payload.length;
    accepted += 1;
  }
  const full: Refusal = { kind: 'uncommitted-full', bytesMax: uncommittedBytesMax };
  const refused = accepted < payloads.length ? full : undefined;
  const { term } = state.hardState;
  const answer: Effect = { kind: 'proposed', term, first: nextIndex(state), accepted, refused };
  if (accepted === 0) return { state, effects: [answer] };
  const taken = accepted === payloads.length ? payloads : payloads.slice(0, accepted);
  const counted: RaftState = { ...state, role: { ...role, uncommittedBytes: bytes } };
  const appended = appendEntries(counted, nextEntries(counted, taken));
  return { state: appended.state, effects: [answer, ...appended.effects] };
}

function countOwnDisk(state: RaftState, completion: Persisted, nowMs: number): Step {
  const believed = believe(state, completion);
  return believed === undefined ? ignoreCompletion(state, completion) : advance(believed, nowMs);
}

function outcome({ index }: SnapshotSent): Parameters<typeof progressed>[2] {
  return index === undefined ? { kind: 'snapshot-failed' } : { kind: 'snapshot-sent', index };
}
