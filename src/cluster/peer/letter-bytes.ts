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
import type { ByteReader, ByteWriter } from '#base';
import { encodeMembership } from '#raft';
import {
  type Ends,
  fail,
  membershipIn,
  readFlag,
  readId,
  readIndex,
  readRoute,
  readTerm,
  writeFlag,
  writeId,
  writeRoute,
} from './message-bytes.ts';
import type { EndReason, SnapshotContent, SnapshotLetter } from './snapshot-letter.ts';

const KIND = { offer: 1, ask: 2, part: 3, end: 4 } as const;
const REASONS: readonly EndReason[] = ['done', 'busy', 'refused', 'over'];

export function writeLetter(writer: ByteWriter, letter: SnapshotLetter, ends: Ends): void {
  writeRoute(writer, letter, ends);
  writer.varint(letter.transfer);
  const { content } = letter;
  writer.u8(KIND[content.kind]);
  switch (content.kind) {
    case 'offer':
      return writer.varint(content.term);
    case 'ask':
      writer.varint(content.round);
      writer.varint(content.credit);
      return writer.bytes(content.standing);
    case 'part': {
      const membership = encodeMembership(content.members.membership);
      writer.varint(content.round);
      writer.varint(content.seq);
      writeFlag(writer, content.isLast);
      writeId(writer, content.last);
      writer.varint(content.members.index);
      writer.varint(membership.length);
      writer.bytes(membership);
      return writer.bytes(content.data);
    }
    case 'end':
      return writer.u8(REASONS.indexOf(content.reason));
  }
}

/** Undefined, with `failed`, for malformed bytes. */
export function readLetter(reader: ByteReader, ends: Ends): SnapshotLetter | undefined {
  const route = readRoute(reader, ends);
  const transfer = reader.varint();
  const content = readContent(reader);
  if (reader.left > 0) fail(reader);
  return reader.failed || content === undefined ? undefined : { ...route, transfer, content };
}

function readContent(reader: ByteReader): SnapshotContent | undefined {
  switch (reader.u8()) {
    case KIND.offer:
      return { kind: 'offer', term: readTerm(reader) };
    case KIND.ask: {
      const [round, credit] = [reader.varint(), reader.varint()];
      return { kind: 'ask', round, credit, standing: reader.bytes(reader.left).slice() };
    }
    case KIND.part: {
      const [round, seq] = [reader.varint(), reader.varint()];
      const isLast = readFlag(reader);
      const last = readId(reader);
      const index = readIndex(reader);
      const membership = membershipIn(reader, reader.bytes(reader.varint()));
      // A view: the data is most of its frame.
      return {
        kind: 'part',
        round,
        seq,
        isLast,
        last,
        members: { index, membership },
        data: reader.bytes(reader.left),
      };
    }
    case KIND.end: {
      const reason = REASONS[reader.u8()];
      if (reason === undefined) fail(reader);
      return { kind: 'end', reason: reason ?? 'over' };
    }
    default:
      fail(reader);
      return undefined;
  }
}
