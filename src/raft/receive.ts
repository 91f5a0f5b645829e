/**
 * A message arrives: what its term means comes before what it says.
 *
 *   earlier term          its sender is told the current one, if it may be acting on it
 *   election, unwanted    not even its term is listened to (voting.ts)
 *   later term            this replica enters it as a follower
 *   this term             whoever campaigns follows the leader of the term from now on
 */
import { unreachable } from '#base';
import { countVote } from './candidate.ts';
import { learnCommitId } from './commit.ts';
import { enterTerm, follow } from './follow.ts';
import { hearLeader } from './following.ts';
import { hearFollower } from './leader.ts';
import { isFromLeader, type Message } from './message.ts';
import { countPreVote } from './pre-candidate.ts';
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
 * Whether the term has a leader already, which is another one (R13). Whoever has heard of one does not listen to the
 * other, so that one of them lacks a quorum, and gives way.
 */
function isSecond({ hardState, role }: RaftState, from: ReplicaId, message: Message): boolean {
  if (message.term !== hardState.term || !isFromLeader(message)) return false;
  return role.kind === 'leader' || (role.kind === 'follower' && role.leader !== undefined && role.leader !== from);
}

/** Brings term and role to where the message can be answered. */
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
          ? countPreVote(learned, learned.role, { from, reply: message }, nowMs)
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
 * Those who ask get an answer, and a leader of an earlier term learns that it is one; the rest came too late. A
 * candidate is only told the term: a refusal that carries this term would count in an election of this term, for which
 * nobody was asked (R9).
 */
function answerStale(state: RaftState, from: ReplicaId, message: Message): Step {
  if (message.kind === 'pre-vote-request') return refuseStale(state, from);
  if (message.kind !== 'vote-request' && !isFromLeader(message)) return unchanged(state);
  return { state, effects: [send(from, { kind: 'term-notice', term: state.hardState.term })] };
}
