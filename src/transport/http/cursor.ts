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
  DATABASE_ID,
  type DatabaseId,
  fieldsOf,
  fromBase64Url,
  REVISION,
  type Revision,
  toBase64Url,
  VARINT,
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

const CURSOR_BYTES = fieldsOf<Cursor>({
  databaseId: DATABASE_ID,
  at: REVISION,
  after: fieldsOf<Position>({ revision: VARINT, index: VARINT }),
});

export function writeCursor(cursor: Cursor): string {
  const writer = new ByteWriter(32);
  writer.u8(FORMAT);
  CURSOR_BYTES.write(writer, cursor);
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
  if (reader.u8() !== FORMAT) return undefined;
  const cursor = CURSOR_BYTES.read(reader);
  return reader.failed || reader.left > 0 ? undefined : cursor;
}
