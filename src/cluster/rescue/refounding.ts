/**
 * Founds a new cluster from the data of one stopped node whose catalog has lost its quorum for good (ADR 0045).
 *
 * ```
 *   store of the old cluster, log            ── the next log is made ──>   nothing has changed
 *     ── one batch of the ledger: identity, catalog, trash marks ──>       it is a node of the new cluster
 *     ── the next log takes its place ──>                                  or the next start does that
 * ```
 * The store gets another cluster_id and store_id, so nodes of the old cluster are refused, and no node can be taken for
 * the old one. Its catalog has this node as its only voter and names each database as another instance, to be built
 * from the existing rows: the next start builds the replicas, as after any crash (C24). So the next log has the
 * catalog, and the unchanged logs of the original databases.
 *
 *   C28  A crash at any time leaves either the old node, or one whose next start belongs to the new cluster and
 *        has all of its data: every row of its databases, and every entry after them.
 */
import { CATALOG_GROUP, type GroupId, type Random, replicaOf, toDatabaseId, uuidv7 } from '#base';
import type { Binding, Refounding } from '#database';
import { type KvBatch, NO_HISTORY } from '#kv';
import { encodeMembership, membershipOf } from '#raft';
import { RecordWriter, type RecoveredGroup, Wal } from '#storage';
import { databaseMachines } from '../database-machines.ts';
import type { NodeIdentity } from '../node.ts';
import { clockFault } from '../refusals.ts';
import { nextLogDirectory, settleLog } from '../store/next-log.ts';
import {
  BEFORE_KEY,
  IDENTITY_KEY,
  trashKey,
  walIdentity,
  writeBefore,
  writeIdentity,
  writeTrash,
} from '../store/node-rows.ts';
import type { StoppedCopy, StoppedNode } from './stopped-node.ts';

export interface RefoundingPorts {
  readonly nowMs: number;
  readonly random: Random;
  /** Called after each step at which a crash is tested. */
  readonly done?: (step: RefoundingStep) => void;
}

export type RefoundingStep = 'draft' | 'log' | 'store' | 'settled';

/** The new node. */
export interface Refounded {
  readonly identity: NodeIdentity;
  /** The databases that continue, each as another instance. */
  readonly bindings: readonly Binding[];
}

/** Segment size of the new log, which is small. Later segments have the size in the settings. */
const SEGMENT_BYTES = 16 * 2 ** 20;

/**
 * Changes the node and its objects in memory, which must be closed afterwards.
 * @throws StorageFailure when the disk fails; the node is then unchanged, or the next start completes the change.
 */
export async function refound(node: StoppedNode, ports: RefoundingPorts): Promise<Refounded> {
  const { directory, store, catalog, copies, log, ports: own } = node;
  const { nowMs, random, done = () => undefined } = ports;
  const fault = clockFault(nowMs);
  if (fault !== undefined) throw fault;
  const mint = (): string => uuidv7(nowMs, random);
  const identity = { ...node.identity, clusterId: mint(), storeId: mint() };
  const named = [...node.namedBefore, ...catalog.list()];
  const bindings = catalog.refound(orderOf(identity, copies, mint));

  const writer = new RecordWriter();
  writeLog(writer, catalogLog(node, log.groups.get(CATALOG_GROUP)));
  for (const copy of copies.values()) if (copy.log !== undefined) writeLog(writer, copy.log);
  await makeLog(node, identity, writer, done);

  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  batch.put(BEFORE_KEY, writeBefore({ ...node.identity, atMs: nowMs }));
  catalog.flushInto(batch);
  await markTrash(batch, node, named);
  await store.write(batch);
  done('store');

  settleLog(directory, identity.storeId, own.places);
  done('settled');
  return { identity, bindings };
}

function orderOf({ node, storeId }: NodeIdentity, copies: StoppedNode['copies'], mint: () => string): Refounding {
  const successors = new Map(
    [...copies].map(([group, { origin, applied }]) => {
      const { revision, chainHash } = applied;
      return [group, { databaseId: toDatabaseId(mint()), origin, revision, chainHash }] as const;
    }),
  );
  return { node, storeId, membership: encodeMembership(membershipOf([replicaOf(node)])), successors };
}

/** The log of the catalog starts after its synced state. */
function catalogLog({ catalog }: StoppedNode, before: RecoveredGroup | undefined): RecoveredGroup {
  const { applied } = catalog;
  const { term } = applied;
  const heard = before?.hardState.term ?? term;
  const hardState = { term: heard > term ? heard : term, vote: 0 };
  return { group: CATALOG_GROUP, hardState, checkpoint: { ...applied, history: NO_HISTORY }, entries: [] };
}

function writeLog(writer: RecordWriter, { group, hardState, checkpoint, entries }: RecoveredGroup): void {
  writer.hardState(group, hardState);
  writer.logStart(group, checkpoint);
  for (const { level, ...entry } of entries) writer.entry(group, entry, level);
}

async function makeLog(
  { directory, ports: { disk, places } }: StoppedNode,
  identity: NodeIdentity,
  writer: RecordWriter,
  done: (step: RefoundingStep) => void,
): Promise<void> {
  const place = nextLogDirectory(directory, identity.storeId);
  const { wal } = Wal.open(place, { identity: walIdentity(identity), segmentBytes: SEGMENT_BYTES, disk });
  try {
    done('draft');
    wal.append([writer.take()]);
  } finally {
    await wal.close();
  }
  places.syncDirectory(directory);
  done('log');
}

/** Rows that are not continued are deleted like those of a deleted database. */
async function markTrash(
  batch: KvBatch,
  { store, copies, trash }: StoppedNode,
  named: readonly Binding[],
): Promise<void> {
  const kept = new Set([...copies.values()].map(({ origin }: StoppedCopy) => origin));
  const groups = new Set(named.flatMap(({ group, recovery }) => (recovery ? [group, recovery.group] : [group])));
  for (const group of groups) {
    if (kept.has(group) || trash.has(group) || !(await hasRows(store, group))) continue;
    batch.put(trashKey(group), writeTrash());
  }
}

async function hasRows(store: StoppedNode['store'], group: GroupId): Promise<boolean> {
  const range = store.range({ ...databaseMachines.rowsOf(group), limit: 1, values: false });
  try {
    return (await range.next(1)).length > 0;
  } finally {
    await range.close();
  }
}
