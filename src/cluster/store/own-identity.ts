/**
 * The identity of a store: the first node of a cluster that it has founded, or the node that the joined cluster has
 * registered.
 *
 * A store that asks to join is first recorded as joining; with the answer it becomes a node, in one batch. After a
 * crash in between it asks again as the same store, and gets the same number:
 *
 *   empty ── joining row ──> asking ── identity row, empty catalog, no joining row ──> a node
 */
import { DatabaseError, hasBytesAt, type Random, uuidv7 } from '#base';
import type { KvStore } from '#kv';
import { membershipOf } from '#raft';
import { databaseMachines } from '../database-machines.ts';
import { FIRST_NODE, type NodeIdentity } from '../node.ts';
import type { Founder, Joined } from '../peer/join.ts';
import { nodeRemoved } from '../refusals.ts';
import {
  IDENTITY_KEY,
  JOINING_KEY,
  REMOVED_KEY,
  readIdentity,
  readJoining,
  writeIdentity,
  writeJoining,
} from './node-rows.ts';

/** Way in which a new store becomes a node of a cluster. */
export type Origin =
  /** It founds a cluster. */
  | { readonly kind: 'alone' }
  /** It joins through other nodes. */
  | { readonly kind: 'asks'; readonly ask: (storeId: string) => Promise<Joined | Founder> }
  /** Neither is configured, so it refuses to start. */
  | { readonly kind: 'unknown' };

export interface IdentityOptions {
  /** Path of the store, for messages. */
  readonly place: string;
  readonly nowMs: number;
  readonly random: Random;
  readonly origin: Origin;
  /** True when the node should be a learner. */
  readonly isLearner?: boolean;
  /** Rejects when a new store must not become a node. */
  readonly checkNew: () => Promise<void>;
}

/**
 * Returns the identity of the store; a store without one gets it, durably.
 * @throws DatabaseError when no cluster admits it, when it has started to join and has no seeds, when it knows that its
 * node was removed, and when the node is a learner and should not be, or the reverse
 */
export async function ownIdentity(store: KvStore, options: IdentityOptions): Promise<NodeIdentity> {
  const row = store.get(IDENTITY_KEY);
  if (row !== undefined) return identityIn(store, row, options);
  await options.checkNew();
  return becomeNode(store, options);
}

function identityIn(store: KvStore, row: Uint8Array, { place, isLearner = false }: IdentityOptions): NodeIdentity {
  const identity = readIdentity(row);
  if (identity.isLearner !== isLearner) throw otherKind(place, identity);
  const removed = store.get(REMOVED_KEY);
  // A cluster that was founded from the data of the store has made it another node since.
  if (removed?.length === row.length && hasBytesAt(removed, 0, row)) throw nodeRemoved(identity.node);
  return identity;
}

/** Makes the next start of the node fail, because it was removed. */
export async function noteRemoved(store: KvStore, identity: NodeIdentity): Promise<void> {
  const batch = store.batch();
  batch.put(REMOVED_KEY, writeIdentity(identity));
  await store.write(batch);
}

/** Founds a cluster or joins one, for a new store. */
async function becomeNode(
  store: KvStore,
  { place, nowMs, random, origin, isLearner = false }: IdentityOptions,
): Promise<NodeIdentity> {
  const mint = (): string => uuidv7(nowMs, random);
  const asking = store.get(JOINING_KEY);
  if (origin.kind === 'asks')
    return askAs(store, asking === undefined ? await noteStore(store, mint()) : readJoining(asking), {
      ask: origin.ask,
      mint,
      isLearner,
    });
  if (asking !== undefined) throw halfJoined(place, readJoining(asking));
  if (origin.kind === 'unknown') throw belongsNowhere(place);
  return found(store, mint(), mint());
}

async function noteStore(store: KvStore, storeId: string): Promise<string> {
  const batch = store.batch();
  batch.put(JOINING_KEY, writeJoining(storeId));
  await store.write(batch);
  return storeId;
}

interface Asking {
  readonly ask: (storeId: string) => Promise<Joined | Founder>;
  readonly mint: () => string;
  readonly isLearner: boolean;
}

async function askAs(store: KvStore, storeId: string, { ask, mint, isLearner }: Asking): Promise<NodeIdentity> {
  const answer = await ask(storeId);
  if (answer.kind === 'founder') return found(store, mint(), storeId);
  const { clusterId, node, founders } = answer;
  const identity = { clusterId, storeId, node, isLearner };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  batch.del(JOINING_KEY);
  // The store also keeps the founders of the catalog, until its first entry is applied here.
  databaseMachines.openCatalog(store, membershipOf(founders)).flushInto(batch);
  await store.write(batch);
  return identity;
}

async function found(store: KvStore, clusterId: string, storeId: string): Promise<NodeIdentity> {
  const identity = { clusterId, storeId, node: FIRST_NODE, isLearner: false };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  batch.del(JOINING_KEY);
  await store.write(batch);
  return identity;
}

function otherKind(place: string, { node, isLearner }: NodeIdentity): DatabaseError {
  const [is, set] = isLearner ? ['a learner', 'true'] : ['no learner', 'false'];
  const message = `Node ${node} in the data directory ${place} is ${is}, which cannot change: start it with --learner ${set}; or decommission it, and start another node with an empty directory`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'LearnerFixed' } });
}

function halfJoined(place: string, storeId: string): DatabaseError {
  const message = `The data directory ${place} has begun to join a cluster (store ${storeId}) and does not know the answer yet; start it with --join, or use an empty directory`;
  return new DatabaseError('unavailable', message, { details: { reason: 'HalfJoined' } });
}

/** Reason code of a node that knows no cluster and cannot start. */
export const BELONGS_NOWHERE = 'BelongsNowhere';

export function belongsNowhere(place: string): DatabaseError {
  const message = `The data directory ${place} is empty, and nothing says which cluster this node belongs to: join one by --join HOST:PORT of its nodes, or found a new one, of this node alone at first, by --bootstrap alone`;
  return new DatabaseError('invalid_argument', message, { details: { reason: BELONGS_NOWHERE } });
}
