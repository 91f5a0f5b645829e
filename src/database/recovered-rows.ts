/**
 * The rows and the history of a recovered instance (D19): those of its origin, on the same node, in another group.
 *
 * Only the applied row names its group and instance, and nothing is written to the origin any more. So the rows are
 * copied unchanged, in any order, and again after a crash. The applied row is last, because it makes the instance
 * exist. By it the log begins after the copied history: records name their entries, and the new group continues from
 * there.
 */
import { ByteWriter, type DatabaseId, toHex, toLogIndex } from '#base';
import type { KvBatch, KvStore } from '#kv';
import { writeApplied } from './applied.ts';
import { putRow, unexpectedRow } from './corruption.ts';
import { GROUP_PREFIX_BYTES, RowKeys } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { slices } from './walks.ts';

/** Fields of the instance that differ from those of its origin. */
export interface RecoveredInstance {
  readonly databaseId: DatabaseId;
  readonly rootId: DatabaseId;
  /** First membership of its group. */
  readonly membership: Uint8Array;
}

/**
 * Copies every row of the origin but its applied row, and its history, to the group of `target`, which has no applied
 * row yet; rows of an earlier attempt are cleared first. Nothing else may write either group meanwhile. False when
 * `mayContinue` returned false in between.
 */
export async function copyRows(
  store: KvStore,
  origin: DatabaseSource,
  target: DatabaseSource,
  mayContinue: () => boolean,
): Promise<boolean> {
  const [from, to] = [new RowKeys(origin.group), new RowKeys(target.group)];
  const left = to.all();
  await store.clear(left.gte, left.lt);
  const prefix = to.applied().slice(0, GROUP_PREFIX_BYTES);
  const appliedKey = toHex(from.applied());
  for await (const rows of slices(store.range({ ...from.all(), fillCache: false }))) {
    if (!mayContinue()) return false;
    const batch = store.batch();
    for (const { key, value } of rows) {
      if (toHex(key) === appliedKey) continue;
      const copy = key.slice();
      copy.set(prefix);
      batch.put(copy, value);
    }
    await store.write(batch);
  }
  await store.copyHistory(origin.group, target.group);
  return mayContinue();
}

/** Puts the applied row into the batch: the instance is there with it. Every other row is durable before. */
export function recoverInto(
  batch: KvBatch,
  origin: DatabaseSource,
  target: DatabaseSource,
  { membership, ...instance }: RecoveredInstance,
): void {
  const reader = new DatabaseReader(origin);
  const applied = reader.applied();
  if (applied === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
  const row = new ByteWriter();
  const group = { index: toLogIndex(0), membership };
  writeApplied(row, { ...applied, ...instance, logStart: applied.index, group });
  putRow(batch, new RowKeys(target.group).applied(), row);
}
