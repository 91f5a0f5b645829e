/**
 * Everything that can happen to a group: the whole input alphabet of `step`. Every role answers every input.
 */
import type { LogIndex, Term } from '#base';

export type Input =
  /** Time has passed; the deadlines that are due fire. */
  | { readonly kind: 'tick' }
  /** Ask for leadership now instead of at the next election deadline. */
  | { readonly kind: 'campaign' }
  /** Add entries with these payloads, in this order. Payloads are not empty: empty is the leader's no-op. */
  | { readonly kind: 'propose'; readonly payloads: readonly Uint8Array[] }
  /** A `persist` effect is on disk. Copied from that effect, so that a completion of an overwritten write shows (R6). */
  | { readonly kind: 'persisted'; readonly term: Term; readonly index: LogIndex; readonly logTerm: Term }
  /** Everything up to this index, all of it handed out by `apply` effects, has been applied. */
  | { readonly kind: 'applied'; readonly index: LogIndex }
  /** Ask how far a linearizable read must see. The id comes back in the answer; ids need not be distinct. */
  | { readonly kind: 'read'; readonly id: number };

export type InputKind = Input['kind'];
