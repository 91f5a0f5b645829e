// A log in memory that loses unsynced records in a crash. It runs synchronously with its test: `sync` makes queued
// batches durable, or, if automatic, a microtask after each append does so, like a very fast disk.
import { assert, type GroupId, toTerm, unreachable } from '#base';
import type { BatchId, EncodedRecords, LogWriter, PersistedFacts, RecoveredGroup, RecoveredLog } from '#storage';
import { NO_CHECKPOINT } from '#storage';
import { GroupLedger } from '../../../src/storage/group-ledger.ts';
import { decodeRecord, type LogRecord } from '../../../src/storage/log-records.ts';

type Listener = (through: BatchId, facts: PersistedFacts) => void;

const EMPTY = {
  hardState: { term: toTerm(0), vote: 0 },
  checkpoint: NO_CHECKPOINT,
  entries: [],
};

export class MemoryLog implements LogWriter {
  isAutomatic = true;
  /** Number of effective syncs. */
  syncCount = 0;
  readonly #durable: LogRecord[];
  readonly #ledger = new GroupLedger();
  #queued: { readonly batch: BatchId; readonly records: readonly LogRecord[] }[] = [];
  #lastBatch: BatchId = 0;
  #onPersisted: Listener = () => undefined;
  #onFatal: (failure: Error) => void = () => undefined;
  #isBroken = false;

  constructor(durable: readonly LogRecord[] = []) {
    this.#durable = [...durable];
    for (const record of durable) this.#admit(record);
  }

  append(records: EncodedRecords): BatchId {
    this.#lastBatch += 1;
    const decoded = decodeAll(records);
    for (const record of decoded) this.#admit(record);
    this.#queued.push({ batch: this.#lastBatch, records: decoded });
    if (this.isAutomatic) queueMicrotask(() => this.sync());
    return this.#lastBatch;
  }

  onPersisted(listener: Listener): void {
    this.#onPersisted = listener;
  }

  onFatal(listener: (failure: Error) => void): void {
    this.#onFatal = listener;
  }

  async close(): Promise<void> {
    this.sync();
  }

  get queuedCount(): number {
    return this.#queued.length;
  }

  /** All durable records, in order. */
  get durable(): readonly LogRecord[] {
    return this.#durable;
  }

  /** Makes all queued batches durable and reports them. */
  sync(): void {
    const last = this.#queued.at(-1);
    if (last === undefined || this.#isBroken) return;
    for (const { records } of this.#queued) this.#durable.push(...records);
    this.#queued = [];
    this.syncCount += 1;
    this.#onPersisted(last.batch, { bytes: 0, elapsedMs: 0 });
  }

  /** Reports a disk error; nothing becomes durable afterwards. */
  fail(failure: Error): void {
    this.#isBroken = true;
    this.#onFatal(failure);
  }

  /** The log after a crash in which the first `torn` queued batches reached the disk without being reported. */
  crash(torn: number): MemoryLog {
    this.#isBroken = true;
    return new MemoryLog([...this.#durable, ...this.#queued.slice(0, torn).flatMap(({ records }) => records)]);
  }

  /** Like the log on disk (W11): a record that does not continue its group is a bug. */
  #admit(record: LogRecord): void {
    const fault = this.#ledger.admit(record, { segment: 1, crc: 0 });
    assert(fault === undefined, 'A record continues what the log holds of its group', fault);
  }

  recover(): RecoveredLog {
    const groups = new Map<GroupId, RecoveredGroup>();
    const tombstones = new Set<GroupId>();
    for (const record of this.#durable) {
      if (record.kind === 'group-tombstone') {
        groups.delete(record.group);
        tombstones.add(record.group);
      } else {
        assert(record.kind !== 'group-summary' && record.kind !== 'tombstones', 'The core writes no summaries');
        tombstones.delete(record.group);
        groups.set(record.group, after(groups.get(record.group) ?? { group: record.group, ...EMPTY }, record));
      }
    }
    return { groups, tombstones };
  }
}

function after(group: RecoveredGroup, record: LogRecord): RecoveredGroup {
  switch (record.kind) {
    case 'hard-state':
      return { ...group, hardState: record.hardState };
    case 'entry': {
      const { term, index, payload, level, membership } = record;
      const last = group.entries.at(-1)?.index ?? group.checkpoint.index;
      assert(index === last + 1, 'Entries are persisted in order', [last, index]);
      const entry = { term, index, payload, level, ...(membership && { membership }) };
      return { ...group, entries: [...group.entries, entry] };
    }
    case 'checkpoint': {
      const { checkpoint } = record;
      return { ...group, checkpoint, entries: group.entries.filter((entry) => entry.index > checkpoint.index) };
    }
    case 'log-start':
      return { ...group, checkpoint: record.checkpoint, entries: [] };
    case 'truncate-from':
      return { ...group, entries: group.entries.filter((entry) => entry.index < record.index) };
    case 'group-tombstone':
    case 'group-summary':
    case 'tombstones':
      throw new Error(`The core writes no ${record.kind} here`);
    default:
      return unreachable(record);
  }
}

function decodeAll(bytes: EncodedRecords): readonly LogRecord[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: LogRecord[] = [];
  for (let at = 0; at < bytes.length; at += view.getUint32(at, true)) {
    const record = decodeRecord(bytes, view, at);
    if (typeof record === 'string') throw new Error(`The core wrote ${record}`);
    records.push(record.kind === 'entry' ? { ...record, payload: record.payload.slice() } : record);
  }
  return records;
}
