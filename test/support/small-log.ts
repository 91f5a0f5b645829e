/** Small logs on a simulated disk: opening them, records to append, and the failure of an operation. */
import { type GroupId, type Term, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type EncodedRecords, NO_CHECKPOINT, StorageFailure, Wal, type WalIdentity } from '#storage';
import type { LogRecord } from '../../src/storage/log-records.ts';
import { encode } from './log-model.ts';
import { MemoryDisk } from './memory-disk.ts';

export const SEGMENT_BYTES: number = 16 * 1024;
export const IDENTITY: WalIdentity = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
export const GROUP: GroupId = toGroupId(7);
export const TERM: Term = toTerm(1);

export function openLog(disk: MemoryDisk): ReturnType<typeof Wal.open> {
  return Wal.open('wal', { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk });
}

export function segments(disk: MemoryDisk): readonly number[] {
  return disk
    .list('wal')
    .filter((name) => name.endsWith('.wal'))
    .map((name) => Number.parseInt(name, 10))
    .toSorted((a, b) => a - b);
}

/** A log whose entries fill one segment and continue in the next. */
export function twoSegments(): MemoryDisk {
  const disk = new MemoryDisk();
  const { wal } = openLog(disk);
  wal.append([vote()]);
  for (let index = 1; segments(disk).length < 2; index++) wal.append([entries(index, 1, 600)]);
  return disk;
}

export function vote(term = 1, candidate = 1): EncodedRecords {
  return encode([{ kind: 'hard-state', group: GROUP, hardState: { term: toTerm(term), vote: candidate } }]);
}

export function entries(first: number, count: number, payloadBytes = 20): EncodedRecords {
  return encode(Array.from({ length: count }, (_, place) => entryOf(first + place, 1, payloadBytes)));
}

export function checkpoint(index: number): EncodedRecords {
  const at = { ...NO_CHECKPOINT, index: toLogIndex(index), term: TERM, revision: toRevision(index) };
  return encode([{ kind: 'checkpoint', group: GROUP, checkpoint: at }]);
}

export function entryOf(index: number, term: number, bytes = 20): Extract<LogRecord, { readonly kind: 'entry' }> {
  const payload = new Uint8Array(bytes).fill(32 + (index % 90));
  return { kind: 'entry', group: GROUP, level: 1, term: toTerm(term), index: toLogIndex(index), payload };
}

export function failureOf(work: () => unknown): StorageFailure {
  try {
    work();
  } catch (error) {
    if (error instanceof StorageFailure) return error;
    throw error;
  }
  throw new Error('It did not fail');
}

/** Lets background work finish. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}
