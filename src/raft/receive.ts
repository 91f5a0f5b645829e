/**
 * Receives a message: compares its term before its contents.
 *
 *   earlier term          the sender receives the current one, if it may act on it
 *   election, unwanted    ignored, even its term (voting.ts)
 *   later term            this replica enters it as a follower
 *   this term             a candidate follows the leader of the term from now on
 */
import { unreachable } from '#base';
import { enterTerm, follow } from './become-follower.ts';
import { countVote } from './candidate.ts';
import { learnCommitId } from './commit.ts';
import { hearFollower } from './leader.ts';
import { hearLeader } from './leader-messages.ts';
import { isFromLeader, type Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { andThen, type RaftState, type Step, send, unchanged } from './state.ts';
import { answerPreVote, answerVote, disturbs, refuseStale } from './voting.ts';

export function receive(state: RaftState, from: ReplicaId, message: Message, nowMs: number): Step {
  const { term } = state.hardState;
  if (state.isDiverged) return unchanged(state);
  if (message.term < term) return answerStale(state, from, message);
  if (disturbs(state, message, nowMs)) {
    const fact = { kind: 'vote-request-ignored', from, term: message.term } as const;
    return { state, effects: [{ kind: 'fact', fact }] };
  }
  if (isSecond(state, from, message)) {
    return { state, effects: [{ kind: 'fact', fact: { kind: 'second-leader', term, from } }] };
  }
  return andThen(align(state, from, message, nowMs), (aligned) => deliver(aligned, from, message, nowMs));
}

/**
 * Returns true when the term already has another leader (R13). The replica ignores the second one, so that one of the
 * two lacks a quorum and steps down.
 */
function isSecond({ hardState, role }: RaftState, from: ReplicaId, message: Message): boolean {
  if (message.term !== hardState.term || !isFromLeader(message)) return false;
  return role.kind === 'leader' || (role.kind === 'follower' && role.leader !== undefined && role.leader !== from);
}

/** Updates term and role as the message requires. */
function align(state: RaftState, from: ReplicaId, message: Message, nowMs: number): Step {
  const leader = isFromLeader(message) ? from : undefined;
  if (message.term > state.hardState.term) return enterTerm(state, message.term, leader, nowMs);
  const isCampaigning = state.role.kind === 'candidate' || state.role.kind === 'pre-candidate';
  return leader !== undefined && isCampaigning ? follow(state, leader, nowMs) : unchanged(state);
}

function deliver(state: RaftState, from: ReplicaId, message: Message, nowMs: number): Step {
  const { role } = state;
  switch (message.kind) {
    case 'pre-vote-request':
      return andThen(learnCommitId(state, message.commit, nowMs), (learned) => answerPreVote(learned, from, message));
    case 'vote-request':
      return andThen(learnCommitId(state, message.commit, nowMs), (learned) =>
        answerVote(learned, from, message, nowMs),
      );
    case 'pre-vote-reply':
      return andThen(learnCommitId(state, message.commit, nowMs), (learned) =>
        learned.role.kind === 'pre-candidate'
          ? countVote(learned, learned.role, { from, reply: message }, nowMs)
          : unchanged(learned),
      );
    case 'vote-reply':
      return andThen(learnCommitId(state, message.commit, nowMs), (learned) =>
        learned.role.kind === 'candidate'
          ? countVote(learned, learned.role, { from, reply: message }, nowMs)
          : unchanged(learned),
      );
    case 'append':
    case 'commit':
    case 'beat':
    case 'read-reply':
    case 'timeout-now':
    case 'install-snapshot':
      return hearLeader(state, from, message, nowMs);
    case 'append-ack':
    case 'append-reject':
    case 'beat-ack':
    case 'read-request':
      return role.kind === 'leader' ? hearFollower(state, from, message, nowMs) : unchanged(state);
    case 'term-notice':
      return unchanged(state);
    default:
      return unreachable(message);
  }
}

/**
 * Answers requests, and notifies a leader of an earlier term; other late messages are ignored. A candidate receives the
 * term only: a refusal in the current term would count in an election of this term, in which no vote was requested
 * (R9).
 */
function answerStale(state: RaftState, from: ReplicaId, message: Message): Step {
  if (message.kind === 'pre-vote-request') return refuseStale(state, from);
  if (message.kind !== 'vote-request' && !isFromLeader(message)) return unchanged(state);
  return { state, effects: [send(from, { kind: 'term-notice', term: state.hardState.term })] };
}
