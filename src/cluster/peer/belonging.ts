/** The cluster that a node belongs to, as reported at its peer port. */
import type { Address } from '#base';

/** A node with an empty data directory, while it looks for a cluster. */
export interface Newcomer {
  readonly kind: 'new';
  readonly storeId: string;
  /** True if it may found a cluster. */
  readonly mayFound: boolean;
  /** Seeds of its settings, host:port. */
  readonly seeds: readonly string[];
}

export type Belonging =
  | { readonly kind: 'member'; readonly clusterId: string }
  | Newcomer
  /** It has not read its data directory yet. */
  | { readonly kind: 'starting' };

/** Reason for the lack of a reply. */
export interface NoAnswer {
  readonly kind: 'no-answer';
  readonly reason: string;
}

/** Asks the node at an address. */
export type AskBelonging = (address: Address, timeoutMs: number) => Promise<Belonging | NoAnswer>;
