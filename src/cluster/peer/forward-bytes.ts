/**
 * Encodes forwarded requests and their replies as the content of a frame.
 *
 * ```
 * content   := item*
 * item      := u8 kind, fields of its kind in the order of the table below
 * ```
 * In `refused` an empty reason is none, and so is 0 for the two numbers.
 */
import {
  BYTES,
  type ByteReader,
  DatabaseError,
  ERROR_CODES,
  type ErrorDetails,
  type Field,
  fail,
  isNodeId,
  type Kinds,
  kindsOf,
  TEXT,
  VARINT,
} from '#base';
import { COPIES } from '#database';
import { ENTRY_ID, GROUP, INDEX, REPLICA, TERM } from './fields.ts';
import type { ForwardItem } from './forward.ts';

const ERROR: Field<DatabaseError> = {
  write: (writer, { code, message, details }) => {
    for (const text of [code, message, details.reason ?? '']) TEXT.write(writer, text);
    writer.varint(details.retryAfterMs === undefined ? 0 : details.retryAfterMs + 1);
    writer.varint(details.leaderNode ?? 0);
  },
  read: readError,
};

const NUMBERED = { session: VARINT, id: VARINT };
const HISTORY = { group: GROUP, replica: REPLICA, term: TERM };

export const FORWARDS: Kinds<ForwardItem> = kindsOf<ForwardItem>({
  propose: [1, { ...NUMBERED, group: GROUP, payload: BYTES }],
  create: [2, { ...NUMBERED, copies: COPIES, name: TEXT }],
  accepted: [3, { ...NUMBERED, index: INDEX, term: TERM }],
  refused: [4, { ...NUMBERED, error: ERROR }],
  'await-past': [5, { index: INDEX }],
  'await-shown': [6, { index: INDEX }],
  shown: [7, { index: INDEX }],
  past: [8, { index: INDEX }],
  leaving: [9, {}],
  full: [10, {}],
  'clock-ask': [11, { askedMs: VARINT }],
  'clock-told': [12, { askedMs: VARINT, wallMs: VARINT }],
  compare: [13, { ...HISTORY, standing: BYTES }],
  same: [14, HISTORY],
  differs: [15, { ...HISTORY, reason: TEXT }],
  acknowledged: [16, { ...HISTORY, acknowledged: ENTRY_ID }],
});

function readError(reader: ByteReader): DatabaseError {
  const name = TEXT.read(reader);
  const code = ERROR_CODES.find((each) => each === name);
  if (code === undefined) fail(reader);
  const message = TEXT.read(reader);
  const reason = TEXT.read(reader);
  const retryAfter = reader.varint();
  const leader = reader.varint();
  if (leader !== 0 && !isNodeId(leader)) fail(reader);
  const details: ErrorDetails = {
    ...(reason !== '' && { reason }),
    ...(retryAfter > 0 && { retryAfterMs: retryAfter - 1 }),
    ...(isNodeId(leader) && { leaderNode: leader }),
  };
  return new DatabaseError(code ?? 'internal', message, { details });
}
