// Goal: a cursor is parsed as it was written, other texts are rejected, and no cursor looks like a revision (TH8).
// Method: random cursors and texts.
import { assert as check, nat, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { DatabaseError, toDatabaseId, toRevision } from '#base';
import { cursorFrom, readCursor, writeCursor } from '../../../../src/transport/http/cursor.ts';

const databaseId = toDatabaseId('0198f2c0-8a3e-7c11-9d5e-0123456789ab');
const revision = nat({ max: Number.MAX_SAFE_INTEGER }).map(toRevision);

it('a cursor is parsed as it was written, and never looks like a revision', () => {
  check(
    property(revision, revision, nat({ max: 999 }), (at, last, index) => {
      const cursor = { databaseId, at, after: { revision: last, index } };
      expect(readCursor(writeCursor(cursor))).toEqual(cursor);
      expect(writeCursor(cursor)).toMatch(/^A[\w-]+$/);
    }),
  );
});

it.each([
  ['', 'empty'],
  ['12x', 'some text'],
  ['AQ', 'too short'],
  [`${writeCursor({ databaseId, at: toRevision(1), after: { revision: 1, index: 0 } })}AA`, 'too long'],
  ['Ag'.padEnd(27, 'A'), 'of another format'],
  [Buffer.from([1, ...Buffer.alloc(16), 1, 1, 0]).toString('base64url'), 'with an id that is not a UUIDv7'],
])('a cursor is rejected when it is %s (%s)', (text) => {
  expect(readCursor(text)).toBeUndefined();
});

it('a cursor is rejected for any other text', () => {
  check(
    property(string({ unit: 'binary' }), (text) => {
      expect(() => cursorFrom(text)).toThrow(DatabaseError);
    }),
  );
});
