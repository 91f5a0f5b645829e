/**
 * Linearizable reads at a follower: it asks the leader for the read index, which read-index.ts answers. The wait until
 * that index is applied is in `#cluster`, group/read-barrier.ts.
 *
 * Each request has its own ticket, and an answer counts only for that ticket: the answer to an abandoned request must
 * not count for a later read with the same id (R5). The first ticket is random, so that a restarted replica does not
 * accept answers to its former requests.
 */
import type { Effect } from './effect.ts';
import { drawRandom } from './random.ts';
import { refuseRead } from './refusals.ts';
import type { Follower, ForwardedRead } from './role.ts';
import { type RaftState, type Step, send } from './state.ts';
import { arm, disarm } from './timers.ts';

// A draw has 32 bits; multiplied by this, a ticket is still a safe integer.
const TICKETS_PER_DRAW = 2 ** 20;

export function askLeader(state: RaftState, role: Follower, id: number, nowMs: number): Step {
  const { pendingReadsMax, electionWindowMs } = state.config;
  const { leader } = role;
  if (leader === undefined) return refuseRead(state, id, { kind: 'not-leader', leader });
  if (role.reads.length >= pendingReadsMax)
    return refuseRead(state, id, { kind: 'reads-full', countMax: pendingReadsMax });
  const before = role.reads.at(-1);
  const { random, ticket } = nextTicket(state, before);
  const deadlineMs = nowMs + electionWindowMs;
  const timers = before === undefined ? arm(state.timers, 'read', deadlineMs) : state.timers;
  const reads = [...role.reads, { id, ticket, deadlineMs }];
  const { term } = state.hardState;
  return {
    state: { ...state, random, timers, role: { ...role, reads } },
    effects: [send(leader, { kind: 'read-request', term, id: ticket })],
  };
}

/** Refuses the reads whose deadline has passed: the request or the answer was lost. */
export function giveUpReads(state: RaftState, role: Follower, nowMs: number): Step {
  const reads = role.reads.filter(({ deadlineMs }) => deadlineMs > nowMs);
  const late = role.reads.filter(({ deadlineMs }) => deadlineMs <= nowMs);
  const [oldest] = reads;
  const timers = oldest === undefined ? disarm(state.timers, 'read') : arm(state.timers, 'read', oldest.deadlineMs);
  const refusal = { kind: 'no-answer', leader: role.leader } as const;
  return {
    state: { ...state, timers, role: { ...role, reads } },
    effects: late.map(({ id }): Effect => ({ kind: 'read-refused', id, refusal })),
  };
}

/** The previous ticket plus one, or a random first one. */
function nextTicket(
  state: RaftState,
  before: ForwardedRead | undefined,
): { readonly random: number; readonly ticket: number } {
  if (before !== undefined && (before.ticket + 1) % TICKETS_PER_DRAW !== 0) {
    return { random: state.random, ticket: before.ticket + 1 };
  }
  const random = drawRandom(state.random);
  return { random, ticket: (random >>> 0) * TICKETS_PER_DRAW };
}
