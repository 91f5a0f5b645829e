/**
 * The memory budgets that all transports of a node share, and the error when one is used up.
 *
 * ```
 *   setting             for                                                        as a part of it
 *   request-memory      bytes of requests that arrive or are handled               1
 *                       open streams of gRPC, and their first bytes                1, on top
 *   unsent-memory       unsent replies and slices                                  1, and a small slice per stream
 *                       small replies of gRPC and small pages of HTTP              1/4, on top
 * ```
 */
import { DatabaseError } from '#base';
import { type BudgetTime, MemoryBudget, REAL_TIME } from './memory-budget.ts';

export interface ByteBudgets {
  readonly requests: MemoryBudget;
  readonly streams: MemoryBudget;
  readonly unsent: MemoryBudget;
  /** Bytes of small replies that were not sent yet. Slow readers of large replies do not delay them. */
  readonly small: MemoryBudget;
  /** Longest time that a reply waits for room; then it is refused. */
  readonly waitMs: number;
  readonly time: BudgetTime;
}

export interface ByteBudgetSizes {
  readonly requestBytesMax: number;
  readonly unsentBytesMax: number;
  /** Default: as much as for requests. */
  readonly streamBytesMax?: number;
  /** Time without progress after which a client loses its bytes to clients that wait for them. */
  readonly stallMs?: number;
  readonly waitMs?: number;
  /** Real time unless a test decides. */
  readonly time?: BudgetTime;
}

const STALL_MS = 10_000;

/** Longer than the stall timeout, so that a client that waits receives the bytes of an eviction. */
const WAIT_MS: number = STALL_MS + 5_000;

/** Size of the budget for small replies, as a part of that for replies, on top of it. */
const SMALL_PER_BUDGET = 1 / 4;

/** Part of a budget that only proven connections get. */
const PROVEN_PART = 1 / 4;

/** Time after which a client may retry: most holds are released sooner. */
export const RETRY_AFTER_MS = 1_000;

export function createByteBudgets(sizes: ByteBudgetSizes): ByteBudgets {
  const { requestBytesMax, unsentBytesMax, streamBytesMax = requestBytesMax } = sizes;
  const { stallMs = STALL_MS, waitMs = WAIT_MS, time = REAL_TIME } = sizes;
  const shared = { stallMs, time };
  return {
    requests: new MemoryBudget({ bytesMax: requestBytesMax, provenPart: PROVEN_PART, ...shared }),
    streams: new MemoryBudget({ bytesMax: streamBytesMax, ...shared }),
    unsent: new MemoryBudget({ bytesMax: unsentBytesMax, provenPart: PROVEN_PART, ...shared }),
    small: new MemoryBudget({ bytesMax: unsentBytesMax * SMALL_PER_BUDGET, ...shared }),
    waitMs,
    time,
  };
}

/** The error of a request that was not tried, and may succeed a moment later. */
export function noRoom(): DatabaseError {
  const message = 'The node holds as many bytes of requests or replies as it may; repeat the request after a pause';
  return new DatabaseError('busy', message, { details: { retryAfterMs: RETRY_AFTER_MS } });
}
