/**
 * The checkpoint of a group: how far its applied state is durable outside the log, with all of that state that its
 * history does not have. From both, every row of a database can be made again.
 */
import {
  ByteReader,
  ByteWriter,
  compareBytes,
  type LogIndex,
  NO_BYTES,
  type Revision,
  type Term,
  toLogIndex,
  toRevision,
  toTerm,
} from '#base';
import { type HistoryEnd, NO_HISTORY } from '#kv';

export interface Checkpoint {
  /** The last applied entry, and its term. Entries up to here are no longer needed for recovery. */
  readonly index: LogIndex;
  readonly term: Term;
  /** The revision of the database after that entry. */
  readonly revision: Revision;
  /** Up to here the state came from another replica; 0 when all of it came by the log. */
  readonly logStart: LogIndex;
  /** Membership of the group, opaque here, and the entry that set it; 0 for the membership that it began with. */
  readonly group: { readonly index: LogIndex; readonly membership: Uint8Array };
  /** The end of the history after that entry. */
  readonly history: HistoryEnd;
}

/** Nothing was applied yet. */
export const NO_CHECKPOINT: Checkpoint = {
  index: toLogIndex(0),
  term: toTerm(0),
  revision: toRevision(0),
  logStart: toLogIndex(0),
  group: { index: toLogIndex(0), membership: NO_BYTES },
  history: NO_HISTORY,
};

/** Everything but index and term, which have fields of their own in a record. */
export function writeCheckpoint(into: ByteWriter, { revision, logStart, group, history }: Checkpoint): void {
  into.varint(revision);
  into.varint(logStart);
  into.varint(history.end);
  into.u32le(history.crc);
  into.varint(group.index);
  into.bytes(group.membership);
}

/** Undefined when the bytes end inside a number, or have one beyond 2^53 - 1. */
export function readCheckpoint(bytes: Uint8Array, place: Pick<Checkpoint, 'index' | 'term'>): Checkpoint | undefined {
  const reader = new ByteReader(bytes);
  const [revision, logStart] = [reader.varint(), reader.varint()];
  const history = { end: reader.varint(), crc: reader.u32le() };
  const index = reader.varint();
  if (reader.failed) return undefined;
  // Copied, because the bytes are a view into a batch or a segment. The method `slice` of a Buffer would not copy.
  const group = { index: toLogIndex(index), membership: new Uint8Array(reader.bytes(reader.left)) };
  return { ...place, revision: toRevision(revision), logStart: toLogIndex(logStart), group, history };
}

export function isSameCheckpoint(one: Checkpoint, other: Checkpoint): boolean {
  return one.index === other.index && one.term === other.term && compareBytes(encoded(one), encoded(other)) === 0;
}

function encoded(checkpoint: Checkpoint): Uint8Array {
  const writer = new ByteWriter();
  writeCheckpoint(writer, checkpoint);
  return writer.take();
}
