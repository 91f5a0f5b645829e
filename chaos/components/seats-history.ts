/** What clients asked of the seats, and what they were told: all that the checks look at, beside what is left. */

export interface Sale {
  readonly client: string;
  /** Under which each attempt was to be committed: once. */
  readonly batchId: string;
  readonly house: string;
  readonly seat: string;
  /** A revision that was acknowledged to somebody before this was asked. */
  readonly floor: number;
  /** Of the last attempt. */
  readonly outcome: SaleOutcome;
}

export type SaleOutcome =
  | { readonly kind: 'sold'; readonly revision: number; readonly isReplayed: boolean }
  /** By the component, which has looked at this revision. */
  | { readonly kind: 'refused'; readonly reason: 'full' | 'taken'; readonly revision: number }
  /** It lost against others as often as it may. */
  | { readonly kind: 'conflict' }
  | NoAnswer;

/** A State View as it was rendered. */
export interface Show {
  readonly client: string;
  readonly house: string;
  readonly at: number | 'latest';
  readonly floor: number;
  readonly outcome: ShowOutcome;
}

export type ShowOutcome = { readonly kind: 'shown'; readonly revision: number; readonly bytes: string } | NoAnswer;

export type NoAnswer =
  /** It may have been done, and may be done yet. */
  | { readonly kind: 'unknown' }
  /** What no fault explains. */
  | { readonly kind: 'strange'; readonly text: string };

/** An event as it is read over HTTP, with the very text of it that State Views are given. */
export interface SoldEvent {
  readonly revision: number;
  readonly type: string;
  readonly subject: string | undefined;
  readonly text: string;
}

export interface FinalSeats {
  readonly revision: number;
  readonly transactions: readonly { readonly revision: number; readonly transactionId: string }[];
  /** In the order of revisions. */
  readonly events: readonly SoldEvent[];
}

export interface SeatsHistory {
  readonly sales: readonly Sale[];
  readonly shows: readonly Show[];
}
