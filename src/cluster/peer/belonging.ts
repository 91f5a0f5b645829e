/** Which cluster a node belongs to, as it answers at its peer port. */
import type { Address } from '#base';

/** A node with an empty data directory, while it looks for a cluster. */
export interface Newcomer {
  readonly kind: 'new';
  readonly storeId: string;
  /** Whether it may found a cluster. */
  readonly mayFound: boolean;
  /** The addresses that it was started with, host:port. */
  readonly seeds: readonly string[];
}

export type Belonging =
  | { readonly kind: 'member'; readonly clusterId: string }
  | Newcomer
  /** It has not read its data directory yet. */
  | { readonly kind: 'starting' };

/** There is no answer, and why. */
export interface NoAnswer {
  readonly kind: 'no-answer';
  readonly reason: string;
}

/** Asks the node at an address. */
export type AskBelonging = (address: Address, timeoutMs: number) => Promise<Belonging | NoAnswer>;
