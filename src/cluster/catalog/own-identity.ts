/**
 * Who a store is: what it was minted as, or what the cluster that it joined has made of it.
 *
 * A store that is to join a cluster is first of all written down as one that asks; with the answer it becomes a node,
 * in one batch. Whatever happens in between, it asks again as the same store, and gets the same number:
 *
 *   empty ── joining row ──> asking ── identity row, empty catalog, no joining row ──> a node
 */
import { DatabaseError, hasBytesAt, type Random, uuidv7 } from '#base';
import type { KvStore } from '#kv';
import { membershipOf } from '#raft';
import { databaseMachines } from '../apply/database-machines.ts';
import type { NodeIdentity } from '../node.ts';
import type { Joined } from '../peer/join.ts';
import { FIRST_NODE } from '../placement/placement.ts';
import { nodeRemoved } from '../requests/refusals.ts';
import {
  IDENTITY_KEY,
  JOINING_KEY,
  REMOVED_KEY,
  readIdentity,
  readJoining,
  writeIdentity,
  writeJoining,
} from '../store/node-rows.ts';

export interface IdentityOptions {
  /** Where the store lies, for whoever reads a refusal. */
  readonly place: string;
  readonly nowMs: number;
  readonly random: Random;
  /** Asks a cluster to take in a new store; without it, a new store begins a cluster of its own. */
  readonly join?: ((storeId: string) => Promise<Joined>) | undefined;
  /** Rejects when a new store must not be anybody. */
  readonly checkNew: () => Promise<void>;
}

const UUID_RANDOM_BYTES = 10;

/**
 * The identity of the store; one that has none gets it, durably.
 * @throws DatabaseError when no cluster takes it in, or it has begun to join one and `join` is missing; and when its
 * node was removed, and has heard so.
 */
export async function ownIdentity(store: KvStore, options: IdentityOptions): Promise<NodeIdentity> {
  const row = store.get(IDENTITY_KEY);
  if (row !== undefined) return identityIn(store, row);
  await options.checkNew();
  return becomeNode(store, options);
}

function identityIn(store: KvStore, row: Uint8Array): NodeIdentity {
  const identity = readIdentity(row);
  const removed = store.get(REMOVED_KEY);
  // A cluster that began with what the store holds has made it another node since.
  if (removed?.length === row.length && hasBytesAt(removed, 0, row)) throw nodeRemoved(identity.node);
  return identity;
}

/** Has the next start of the node fail, for it was removed. */
export async function noteRemoved(store: KvStore, identity: NodeIdentity): Promise<void> {
  const batch = store.batch();
  batch.put(REMOVED_KEY, writeIdentity(identity));
  await store.write(batch, { sync: true });
}

/** A store that belongs to no cluster begins one, or joins one. */
async function becomeNode(store: KvStore, { place, nowMs, random, join: ask }: IdentityOptions): Promise<NodeIdentity> {
  const mint = (): string => uuidv7(nowMs, random.bytes(UUID_RANDOM_BYTES));
  const asking = store.get(JOINING_KEY);
  if (ask !== undefined)
    return joinAs(store, asking === undefined ? await noteStore(store, mint()) : readJoining(asking), ask);
  if (asking !== undefined) throw halfJoined(place, readJoining(asking));
  const identity = { clusterId: mint(), storeId: mint(), node: FIRST_NODE };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  await store.write(batch, { sync: true });
  return identity;
}

async function noteStore(store: KvStore, storeId: string): Promise<string> {
  const batch = store.batch();
  batch.put(JOINING_KEY, writeJoining(storeId));
  await store.write(batch, { sync: true });
  return storeId;
}

async function joinAs(
  store: KvStore,
  storeId: string,
  ask: (storeId: string) => Promise<Joined>,
): Promise<NodeIdentity> {
  const { clusterId, node, founders } = await ask(storeId);
  const identity = { clusterId, storeId, node };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  batch.del(JOINING_KEY);
  // With it stays who founded the catalog, until its first entry is applied here.
  databaseMachines.openCatalog(store, membershipOf(founders)).flushInto(batch);
  await store.write(batch, { sync: true });
  return identity;
}

function halfJoined(place: string, storeId: string): DatabaseError {
  const message = `The data directory ${place} has begun to join a cluster (store ${storeId}) and does not know the answer yet; start it with --join, or use an empty directory`;
  return new DatabaseError('unavailable', message, { details: { reason: 'HalfJoined' } });
}
