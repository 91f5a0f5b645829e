/**
 * Cursors: the start of the next page of events, opaque to clients.
 *
 * A cursor contains the database instance and the revision of the first page, so that all pages show the same database
 * at the same revision, and none continues in a re-created database (TH8).
 *
 *   u8 format = 1 | 16 bytes database_id | varint read revision | varint event revision | varint event index
 *
 * in URL-safe base64 without padding. The first byte makes every cursor begin with a letter: a plain number is a
 * revision, never a cursor.
 */
import {
  ByteReader,
  ByteWriter,
  type DatabaseId,
  formatUuid,
  fromBase64Url,
  isDatabaseId,
  isRevision,
  parseUuid,
  type Revision,
  toBase64Url,
} from '#base';
import type { Position } from '#model';
import type { ReadScope, StoredEvent } from '#service';
import { invalidField } from './errors.ts';

export interface Cursor {
  readonly databaseId: DatabaseId;
  /** Revision that the pages are read at. */
  readonly at: Revision;
  /** Last event of the previous page. */
  readonly after: Position;
}

const FORMAT = 1;
const UUID_BYTES = 16;

export function writeCursor({ databaseId, at, after }: Cursor): string {
  const writer = new ByteWriter(UUID_BYTES * 2);
  writer.u8(FORMAT);
  writer.bytes(parseUuid(databaseId) ?? new Uint8Array(UUID_BYTES));
  writer.varint(at);
  writer.varint(after.revision);
  writer.varint(after.index);
  return toBase64Url(writer.view());
}

export function cursorBehind({ databaseId, revision }: ReadScope, last: StoredEvent): string {
  return writeCursor({ databaseId, at: revision, after: last.position });
}

const CURSOR = 'the next_cursor of the page before';

/**
 * Reads the `after` of a request, if it has one. Throws for an invalid cursor; `otherwise` names another valid form.
 */
export function cursorFrom(text: string | undefined, otherwise?: string): Cursor | undefined {
  if (text === undefined) return undefined;
  const cursor = readCursor(text);
  if (cursor !== undefined) return cursor;
  const rule = otherwise === undefined ? `must be ${CURSOR}` : `must be ${otherwise} or ${CURSOR}`;
  throw invalidField('after', rule, text);
}

export function readCursor(text: string): Cursor | undefined {
  const bytes = fromBase64Url(text);
  if (bytes === undefined) return undefined;
  const reader = new ByteReader(bytes);
  const format = reader.u8();
  const id = reader.bytes(UUID_BYTES);
  const at = reader.varint();
  const after = { revision: reader.varint(), index: reader.varint() };
  if (reader.failed || reader.left > 0 || format !== FORMAT) return undefined;
  const databaseId = formatUuid(id);
  return isDatabaseId(databaseId) && isRevision(at) ? { databaseId, at, after } : undefined;
}
