/**
 * The rows and the history of a recovered instance (D19): those of its origin, on the same node, in another group.
 *
 * No row but the applied row says which group or instance it is of, and nothing is written to the origin any more; so
 * they are copied as they are, in any order, as often as a crash makes it necessary. The applied row comes last, for
 * with it the instance is there. It says that the log begins behind what was copied: records name their entries, and
 * the new group continues to count from there.
 */
import { ByteWriter, type DatabaseId, toHex, toLogIndex } from '#base';
import type { KvBatch, KvStore } from '#kv';
import { writeApplied } from './applied.ts';
import { unexpectedRow } from './corruption.ts';
import { RowKeys } from './keys.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { slices } from './walks.ts';

const GROUP_PREFIX_BYTES = 5;

/** What the instance is, beside what its origin was. */
export interface RecoveredInstance {
  readonly databaseId: DatabaseId;
  readonly rootId: DatabaseId;
  /** Who belongs to its group at first. */
  readonly membership: Uint8Array;
}

/**
 * Copies every row of the origin but its applied row, and its history, to the group of `target`, which has no applied
 * row yet; what an earlier attempt has left there is cleared. Nothing else may write either group meanwhile. False when
 * `goesOn` said no in between.
 */
export async function copyRows(
  store: KvStore,
  origin: DatabaseSource,
  target: DatabaseSource,
  goesOn: () => boolean,
): Promise<boolean> {
  const [from, to] = [new RowKeys(origin.group), new RowKeys(target.group)];
  const left = to.all();
  await store.clear(left.gte, left.lt);
  const prefix = to.applied().slice(0, GROUP_PREFIX_BYTES);
  const appliedKey = toHex(from.applied());
  for await (const rows of slices(store.range({ ...from.all(), fillCache: false }))) {
    if (!goesOn()) return false;
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
  return goesOn();
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
  batch.put(new RowKeys(target.group).applied(), row.view());
}
