/**
 * One transaction as the log keeps it, a proto `LoggedTransaction`, written around a body that is copied as it is.
 * #model reads it back.
 */
import { type ByteWriter, encodeUtf8, varintLength } from '#base';
import type { StoredEventId } from '#model';
import { HASH_BYTES } from './applied-state.ts';

const TAG = { REVISION: 0x08, CHAIN_HASH: 0x12, STORED_ID: 0x1a, TOTAL_EVENTS: 0x20, BODY: 0x7a } as const;
const STORED_ID_TAG = { INDEX: 0x08, ID: 0x12 } as const;

export interface RecordHead {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredEventId[];
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
}

/** Writes a record up to its body, the body's tag and length included. */
export function writeRecordHead(into: ByteWriter, head: RecordHead, bodyLength: number): void {
  into.u8(TAG.REVISION);
  into.varint(head.revision);
  into.u8(TAG.CHAIN_HASH);
  into.u8(HASH_BYTES);
  into.bytes(head.chainHash);
  for (const stored of head.storedIds) writeStoredId(into, stored);
  into.u8(TAG.TOTAL_EVENTS);
  into.varint(head.totalEvents);
  into.u8(TAG.BODY);
  into.varint(bodyLength);
}

function writeStoredId(into: ByteWriter, stored: StoredEventId): void {
  const id = encodeUtf8(stored.id);
  const indexBytes = stored.index === 0 ? 0 : 1 + varintLength(stored.index);
  into.u8(TAG.STORED_ID);
  into.varint(indexBytes + 1 + varintLength(id.length) + id.length);
  if (stored.index !== 0) {
    into.u8(STORED_ID_TAG.INDEX);
    into.varint(stored.index);
  }
  into.u8(STORED_ID_TAG.ID);
  into.varint(id.length);
  into.bytes(id);
}
