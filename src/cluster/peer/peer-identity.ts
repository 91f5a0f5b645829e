/**
 * The identity of a node towards other nodes: its number and its store.
 *
 * A number belongs to one store permanently. A node whose volume was emptied has a new store, and so becomes a new
 * node; messages for the old one must not reach it.
 */
import { assert, type Brand, type NodeId, parseUuid } from '#base';

/** Identity of a store: a UUID in lowercase canonical form, minted when its directory is made. */
export type StoreId = Brand<string, 'StoreId'>;

export interface PeerIdentity {
  readonly node: NodeId;
  readonly store: StoreId;
}

export interface Peer extends PeerIdentity {
  /** Where it listens for other nodes. */
  readonly host: string;
  readonly port: number;
}

export function isStoreId(text: string): text is StoreId {
  return parseUuid(text) !== undefined;
}

export function toStoreId(text: string): StoreId {
  assert(isStoreId(text), 'A store id is a UUID', text);
  return text;
}
