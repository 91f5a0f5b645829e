/**
 * Encodes the messages of a snapshot transfer (snapshot-letter.ts).
 *
 * ```
 * letter := route, varint transfer, u8 kind, fields
 * offer  := varint term
 * ask    := varint round, varint credit, standing to the end
 * part   := varint round, varint seq, u8 is last, entry id, varint index of the members, varint length, membership,
 *           data to the end
 * end    := u8 reason
 * ```
 * Reading is total, as in message-bytes.ts.
 */
import { type ByteReader, type ByteWriter, FLAG, fail, fieldsOf, kindsOf, oneOf, REST, VARINT } from '#base';
import { ENTRY_ID, INDEX, MEMBERSHIP, TERM } from './fields.ts';
import { type Ends, readRoute, writeRoute } from './message-bytes.ts';
import type { EndReason, LetterMembers, SnapshotContent, SnapshotLetter } from './snapshot-letter.ts';

const CONTENTS = kindsOf<SnapshotContent>({
  offer: [1, { term: TERM }],
  ask: [2, { round: VARINT, credit: VARINT, standing: REST }],
  part: [
    3,
    {
      round: VARINT,
      seq: VARINT,
      isLast: FLAG,
      last: ENTRY_ID,
      members: fieldsOf<LetterMembers>({ index: INDEX, membership: MEMBERSHIP }),
      // A view: the data is most of its frame.
      data: REST,
    },
  ],
  end: [4, { reason: oneOf<EndReason>(['done', 'busy', 'refused', 'over']) }],
});

export function writeLetter(writer: ByteWriter, letter: SnapshotLetter, ends: Ends): void {
  writeRoute(writer, letter, ends);
  writer.varint(letter.transfer);
  CONTENTS.write(writer, letter.content);
}

/** Undefined, with `failed`, for malformed bytes. */
export function readLetter(reader: ByteReader, ends: Ends): SnapshotLetter | undefined {
  const route = readRoute(reader, ends);
  const transfer = reader.varint();
  const content = CONTENTS.read(reader);
  if (reader.left > 0) fail(reader);
  return reader.failed ? undefined : { ...route, transfer, content };
}
