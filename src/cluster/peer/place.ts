/**
 * Who a node is towards other nodes: its number, and the store that it runs on.
 *
 * A number belongs to one store for ever. A node whose volume was emptied has a new store, and so becomes a new node;
 * what was meant for the old one must not reach it.
 */
import { assert, type Brand, parseUuid } from '#base';

/** Given to a store by the catalog when it joins, never to another one, never again. 1 or more. */
export type NodeId = Brand<number, 'NodeId'>;

/** Identity of a store: a UUID in lowercase canonical form, minted when its directory is made. */
export type StoreId = Brand<string, 'StoreId'>;

export interface NodePlace {
  readonly node: NodeId;
  readonly store: StoreId;
}

export function isNodeId(value: number): value is NodeId {
  return Number.isSafeInteger(value) && value >= 1;
}

export function toNodeId(value: number): NodeId {
  assert(isNodeId(value), 'A node id is an integer from 1 to 2^53 - 1', value);
  return value;
}

export function isStoreId(text: string): text is StoreId {
  return parseUuid(text) !== undefined;
}

export function toStoreId(text: string): StoreId {
  assert(isStoreId(text), 'A store id is a UUID', text);
  return text;
}
