/**
 * The memory budgets that all transports of a node share, and the errors when one is used up.
 *
 * ```
 *   setting             for                                                        as a part of it
 *   request-memory      bytes of requests that arrive or are handled               1
 *                       open streams of gRPC, and their first bytes                1, on top
 *   unsent-memory       unsent replies and slices                                  1, and a small slice per stream
 *                       small replies of gRPC                                      1/8, on top
 *                       small pages of HTTP                                        1/8, on top
 * ```
 */
import { DatabaseError } from '#base';
import { Allowance } from './allowance.ts';
import { type BudgetTime, ByteBudget, REAL_TIME } from './byte-budget.ts';
import { FairBudget } from './fair-budget.ts';

export interface ByteBudgets {
  /** Bytes of requests that arrive or are worked on. */
  readonly requests: ByteBudget;
  /** What streams of gRPC hold by standing open, and of their requests the first bytes. */
  readonly streams: Allowance;
  /** Bytes of replies that have not left yet. */
  readonly unsent: FairBudget;
  /** The same of small replies of gRPC, which need no room in `unsent` before this is used up. */
  readonly smallReplies: Allowance;
  /** The same of small pages of HTTP, for which there is no room in `unsent`. */
  readonly smallPages: FairBudget;
  /** How long a reply waits for room before it is refused. */
  readonly waitMs: number;
  readonly time: BudgetTime;
}

export interface ByteBudgetSizes {
  readonly requestBytesMax: number;
  readonly unsentBytesMax: number;
  /** As much as of requests unless given. */
  readonly streamBytesMax?: number;
  /** How long a client may keep bytes that others wait for. */
  readonly patienceMs?: number;
  readonly waitMs?: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
}

/** Slower than one slice or body in this time is slow only while others wait. */
const PATIENCE_MS = 10_000;

/**
 * Longer than the patience: whoever waits gets what slow clients are made to give back, and is not refused just before.
 */
const WAIT_MS: number = PATIENCE_MS + 5_000;

/** On top of the budget of replies, as a part of it. */
const SMALL_REPLIES_PER_BUDGET = 1 / 8;
const SMALL_PAGES_PER_BUDGET = 1 / 8;

/** Part of the timeout for a request of an unknown sender; bodies over HTTP count as such (ADR 0015). */
const STANDING_PER_PATIENCE = 1 / 4;

/** When to come again: most of what is held is given back sooner. */
export const RETRY_AFTER_MS = 1_000;

export function createByteBudgets(sizes: ByteBudgetSizes): ByteBudgets {
  const { requestBytesMax, unsentBytesMax, streamBytesMax = requestBytesMax } = sizes;
  const { patienceMs = PATIENCE_MS, waitMs = WAIT_MS, time = REAL_TIME } = sizes;
  const shared = { patienceMs, time };
  return {
    requests: new ByteBudget({
      bytesMax: requestBytesMax,
      takerPatienceMs: patienceMs * STANDING_PER_PATIENCE,
      ...shared,
    }),
    streams: new Allowance(streamBytesMax),
    unsent: new FairBudget({ bytesMax: unsentBytesMax, ...shared }),
    smallReplies: new Allowance(unsentBytesMax * SMALL_REPLIES_PER_BUDGET),
    smallPages: new FairBudget({ bytesMax: unsentBytesMax * SMALL_PAGES_PER_BUDGET, ...shared }),
    waitMs,
    time,
  };
}

/** Nothing was tried, and the same request may succeed a moment later. */
export function noRoom(): DatabaseError {
  const message = 'The node holds as many bytes of requests or replies as it may; repeat the request after a pause';
  return new DatabaseError('busy', message, { details: { retryAfterMs: RETRY_AFTER_MS } });
}
