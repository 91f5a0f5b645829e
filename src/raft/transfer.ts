/**
 * Leadership transfer: the leader refuses proposals, sends the target its missing entries, then asks it to campaign.
 * Earlier requests continue, and after one election window without a new leader the transfer ends. Another target may
 * replace the first one before that; if the first one campaigns after all, that is an ordinary election.
 */
import type { Effect } from './effect.ts';
import { lastId } from './log.ts';
import { isVoter, type ReplicaId } from './quorum.ts';
import { ignoreTransfer } from './refusals.ts';
import { leaderOf } from './replication.ts';
import { andThen, type RaftState, type Step, send, unchanged } from './state.ts';
import { arm, disarm } from './timers.ts';

export function startTransfer(state: RaftState, to: ReplicaId, nowMs: number): Step {
  const role = leaderOf(state);
  const { self, electionWindowMs } = state.config;
  if (to === self) return ignoreTransfer(state, 'already-leader');
  if (!isVoter(state.membership.voters, to)) return ignoreTransfer(state, 'not-a-voter');
  if (role.transfer?.to === to) return ignoreTransfer(state, 'already-transferring');
  const before: readonly Effect[] =
    role.transfer === undefined ? [] : [{ kind: 'fact', fact: { kind: 'transfer-given-up', to: role.transfer.to } }];
  const timers = arm(state.timers, 'transfer', nowMs + electionWindowMs);
  const started: RaftState = { ...state, timers, role: { ...role, transfer: { to, isAsked: false } } };
  const fact: Effect = { kind: 'fact', fact: { kind: 'transfer-started', to } };
  return andThen({ state: started, effects: [...before, fact] }, handOver);
}

/** Asks the target to campaign as soon as it has the whole log. */
export function handOver(state: RaftState): Step {
  const role = leaderOf(state);
  const { transfer } = role;
  if (transfer === undefined || transfer.isAsked) return unchanged(state);
  const match = role.peers.get(transfer.to)?.progress.match;
  if (match !== lastId(state.log).index) return unchanged(state);
  const told: RaftState = { ...state, role: { ...role, transfer: { to: transfer.to, isAsked: true } } };
  return { state: told, effects: [send(transfer.to, { kind: 'timeout-now', term: state.hardState.term })] };
}

export function giveUpTransfer(state: RaftState): Step {
  const role = leaderOf(state);
  if (role.transfer === undefined) return unchanged(state);
  const { to } = role.transfer;
  const timers = disarm(state.timers, 'transfer');
  const fact: Effect = { kind: 'fact', fact: { kind: 'transfer-given-up', to } };
  return { state: { ...state, timers, role: { ...role, transfer: undefined } }, effects: [fact] };
}
