/** Messages between a node and the thread that verifies its tables and sealed segments. */
import type { FailureMessage } from './log-messages.ts';

export interface ScrubPace {
  /** Bytes a second of tables that are new to the process; those that are to go are read as fast as it goes. */
  readonly firstLookBytes: number;
  /** Bytes a second of segments, and of tables that were looked through before. */
  readonly roundBytes: number;
  /** From the begin of a round to that of the next one at least. */
  readonly roundMs: number;
  /** How often new tables are looked for, at most. */
  readonly pollMs: number;
}

/** The first and only message to the thread. */
export interface StartScrub {
  readonly directory: string;
  /** Tables that were verified before the store was opened. */
  readonly seen: readonly number[];
  readonly pace: ScrubPace;
}

export type FromScrub =
  /** Bytes verified since the last such message, and whether that was the last of all tables and sealed segments. */
  | { readonly kind: 'verified'; readonly bytes: number; readonly isWholeRound: boolean }
  | { readonly kind: 'failed'; readonly failure: FailureMessage };
