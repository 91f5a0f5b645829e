/** Write batches that record their operations, for a simulated store that may lose them. */
import { assert, type GroupId } from '#base';
import type { HistoryAppend, KvBatch, KvStore } from '#kv';

export type Operation =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'del'; readonly key: Uint8Array };

export class RecordedBatch implements KvBatch {
  readonly operations: Operation[] = [];
  readonly appends: Map<GroupId, HistoryAppend> = new Map();
  byteLength = 0;

  get count(): number {
    return this.operations.length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.operations.push({ kind: 'put', key: key.slice(), value: value.slice() });
    this.byteLength += key.length + value.length;
  }

  del(key: Uint8Array): void {
    this.operations.push({ kind: 'del', key: key.slice() });
    this.byteLength += key.length;
  }

  append(group: GroupId, records: HistoryAppend): void {
    assert(!this.appends.has(group), 'A batch has the records of a group once', group);
    this.appends.set(group, records);
    this.byteLength += records.bytes.length;
  }
}

/** Applies the operations; synchronous if the store is. */
export function replay(store: KvStore, operations: readonly Operation[]): Promise<void> {
  const batch = store.batch();
  for (const operation of operations) {
    if (operation.kind === 'put') batch.put(operation.key, operation.value);
    else batch.del(operation.key);
  }
  return store.write(batch);
}
