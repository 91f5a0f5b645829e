/**
 * Types of the history of the seats: the requests of clients with their outcomes, and the final events. The checks read
 * nothing else.
 */

export interface Sale {
  readonly client: string;
  /** Transaction id of all attempts, which are committed at most once. */
  readonly batchId: string;
  readonly house: string;
  readonly seat: string;
  /** A revision that was acknowledged before this request. */
  readonly floor: number;
  /** Outcome of the last attempt. */
  readonly outcome: SaleOutcome;
}

export type SaleOutcome =
  | { readonly kind: 'sold'; readonly revision: number; readonly isReplayed: boolean }
  /** Refused by the component, which read this revision. */
  | { readonly kind: 'refused'; readonly reason: 'full' | 'taken'; readonly revision: number }
  /** The command lost against concurrent writes as often as it may retry. */
  | { readonly kind: 'conflict' }
  | NoAnswer;

/** A rendered State View. */
export interface Show {
  readonly client: string;
  readonly house: string;
  readonly at: number | 'latest';
  readonly floor: number;
  readonly outcome: ShowOutcome;
}

export type ShowOutcome = { readonly kind: 'shown'; readonly revision: number; readonly bytes: string } | NoAnswer;

export type NoAnswer =
  /** The request may have taken effect, or may still do so. */
  | { readonly kind: 'unknown' }
  /** An answer that no fault explains. */
  | { readonly kind: 'strange'; readonly text: string };

/** An event as read over HTTP, with the exact text that State Views receive. */
export interface SoldEvent {
  readonly revision: number;
  readonly type: string;
  readonly subject: string | undefined;
  readonly text: string;
}

export interface FinalSeats {
  readonly revision: number;
  readonly transactions: readonly { readonly revision: number; readonly transactionId: string }[];
  /** Ordered by revision. */
  readonly events: readonly SoldEvent[];
}

export interface SeatsHistory {
  readonly sales: readonly Sale[];
  readonly shows: readonly Show[];
}
