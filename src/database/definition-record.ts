/**
 * The rows of definitions (docs/formats/definitions.md): a record for each entry that changed something, and the parts
 * of components.
 *
 * ```
 * record  u8 format = 1 | varint term | varint revision | varint log index of the record before, 0: none
 *         | varint length, head | 32 bytes SHA-256 of the payload | 32 bytes chain hash | u32 CRC
 * part    u8 format = 1 | the bytes | u32 CRC
 * ```
 * The head is the payload without the bytes of a part, which stand in a row of their own and go when nothing names
 * them. Its hash keeps the chain checkable without them.
 */
import {
  assert,
  type ByteWriter,
  compareBytes,
  isLogIndex,
  isRevision,
  isTerm,
  type LogIndex,
  parseHex,
  type Revision,
  type Sha256,
  toLogIndex,
} from '#base';
import { type ComponentDigest, decodeDefinitionHead, type TimedDefinitionEntry } from '#model';
import { HASH_BYTES } from './applied-state.ts';
import { copyRange } from './bytes-range.ts';
import { closeRow, openRow, sealRow, unexpectedRow } from './corruption.ts';
import type { LogPlace } from './record.ts';

const FORMAT = 1;

export interface DefinitionRecord {
  readonly place: LogPlace;
  /** Of the database when it was applied. */
  readonly revision: Revision;
  /** Where the record before stands in the log; 0 for the first. */
  readonly before: LogIndex;
  readonly head: Uint8Array;
  readonly payloadHash: Uint8Array;
  readonly chainHash: Uint8Array;
}

/** A record whose head was read. */
export interface ReadRecord extends DefinitionRecord {
  readonly timed: TimedDefinitionEntry;
}

export function writeDefinitionRecord(into: ByteWriter, record: DefinitionRecord): void {
  into.u8(FORMAT);
  into.varint(record.place.term);
  into.varint(record.revision);
  into.varint(record.before);
  into.varint(record.head.length);
  into.bytes(record.head);
  into.bytes(record.payloadHash);
  into.bytes(record.chainHash);
  sealRow(into);
}

/** Keeps nothing of the value. Throws when it is corrupt. */
export function readDefinitionRecord(key: Uint8Array, value: Uint8Array, at: number): ReadRecord {
  const row = openRow(key, value, FORMAT);
  const term = row.varint();
  const revision = row.varint();
  const before = row.varint();
  const head = copyRange(row.bytes(row.varint()));
  const payloadHash = copyRange(row.bytes(HASH_BYTES));
  const chainHash = copyRange(row.bytes(HASH_BYTES));
  closeRow(key, row);
  const timed = decodeDefinitionHead(head);
  if (!isTerm(term) || !isRevision(revision) || !isLogIndex(before) || !isLogIndex(at) || before >= at) {
    throw unexpectedRow(key, 'it is no record of a definition');
  }
  if (timed === undefined) throw unexpectedRow(key, 'its head is of no entry that defines something');
  return { place: { index: toLogIndex(at), term }, revision, before, head, payloadHash, chainHash, timed };
}

export function writeComponentPart(into: ByteWriter, bytes: Uint8Array): void {
  into.u8(FORMAT);
  into.bytes(bytes);
  sealRow(into);
}

/** A view into the value. Throws when it is corrupt. */
export function readComponentPart(key: Uint8Array, value: Uint8Array): Uint8Array {
  const row = openRow(key, value, FORMAT);
  return row.bytes(row.left);
}

export function digestBytes(digest: ComponentDigest): Uint8Array {
  const bytes = parseHex(digest);
  assert(bytes?.length === HASH_BYTES, 'A digest has 32 bytes', digest);
  return bytes;
}

/** Whether these bytes stand beside the record; beside a part whose component was removed since stand none. */
export function hasBytes(sha256: Sha256, { head, payloadHash, timed }: ReadRecord, bytes: Uint8Array): boolean {
  const { entry } = timed;
  if (entry.kind === 'part' && bytes.length === 0) return true;
  if (entry.kind !== 'part' && bytes.length > 0) return false;
  return compareBytes(sha256([head, bytes]), payloadHash) === 0;
}
