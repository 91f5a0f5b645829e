/**
 * Heads: one row for every stream, event type, subject and source, and one for "no subject".
 *
 * A head has the first and the latest revision of its list, the length of the list, the newest entries, and the tips:
 * the latest revision of those events of the list that also have an event type (and so on), so that L of a constraint
 * is one read. When the inline entries are full and another comes, they move to one chunk row; when there are too many
 * tips, the head is spilled and each tip has a row of its own (small-rows.ts).
 *
 * ```
 * u8 format = 3 | u8 flags: 1 = spilled
 * varint id                                    not for subjects; small numbers by first appearance, one count per kind
 * varint first revision | varint latest revision − first | varint count
 * varint latest revision without a subject     not for subjects; 0: none
 * tips, unless spilled:  streams and sources:  varint count, each varint type id, varint latest revision − its latest,
 *                                              varint its latest without a subject
 *                        subjects:             varint count, each varint stream id, source id, type id,
 *                                              varint latest revision − its latest
 *                        types, "no subject":  nothing
 * varint count of inline entries | entries (posting.ts) | u32 CRC
 * ```
 */
import { ByteReader, type ByteWriter } from '#base';
import { closeRow, openRow, unexpectedRow } from './corruption.ts';
import { HEAD_KIND, type HeadName, type TimeRowKey } from './keys.ts';
import {
  type PackedEntry,
  PostingBlock,
  type PostingEntry,
  PostingPlace,
  readPosting,
  writePosting,
} from './posting.ts';

const FORMAT = 3;
const SPILLED = 1;

/** Inline entries of a head, and entries of a chunk. */
export const CHUNK_ENTRIES: number = 64;
/** Tips that a head holds before it spills. */
export const TIPS_MAX: number = 32;

/** Numbers of one tip of a stream or a source: type id, latest revision, latest revision without a subject. */
export const TYPE_TIP = 3;
/** Numbers of one tip of a subject: stream id, source id, type id, latest revision. */
export const SUBJECT_TIP = 4;

/** Fields of the row of a head, without its entries. */
export interface HeadFields {
  readonly name: HeadName;
  /** 0 for subjects, which need none. */
  readonly id: number;
  readonly firstRevision: number;
  readonly lastRevision: number;
  /** The latest revision with an event of this list that has no subject; 0: none. Not kept in the heads of subjects. */
  readonly lastWithoutSubject: number;
  /** Events in the whole list. */
  readonly count: number;
  readonly spilled: boolean;
  /** `TYPE_TIP` or `SUBJECT_TIP` numbers each; empty when spilled and where the kind has none. */
  readonly tips: readonly number[];
  /** Number of the newest entries of the list that are in the row. */
  readonly inlineCount: number;
}

/** A head's row. */
export interface HeadContent extends HeadFields {
  /** The inline entries, packed. */
  readonly inline: Uint8Array;
}

/** Numbers of one tip in heads of this name; 0 where there are none. */
export function tipStride(name: HeadName): number {
  if (name.kind === HEAD_KIND.TYPE || name.term === undefined) return 0;
  return name.kind === HEAD_KIND.SUBJECT ? SUBJECT_TIP : TYPE_TIP;
}

/** Writes the row of a head up to its entries. */
export function writeHead(into: ByteWriter, head: HeadFields): void {
  const isSubject = head.name.kind === HEAD_KIND.SUBJECT;
  into.u8(FORMAT);
  into.u8(head.spilled ? SPILLED : 0);
  if (!isSubject) into.varint(head.id);
  into.varint(head.firstRevision);
  into.varint(head.lastRevision - head.firstRevision);
  into.varint(head.count);
  if (!isSubject) into.varint(head.lastWithoutSubject);
  if (!head.spilled) writeTips(into, head);
  into.varint(head.inlineCount);
}

/** Writes the row of a subject with one event, its entry included. */
export function writeFirstOfSubject(
  into: ByteWriter,
  tip: readonly number[],
  event: PackedEntry,
  scratch: PostingPlace,
): void {
  const [streamId = 0, sourceId = 0, typeId = 0] = tip;
  into.u8(FORMAT);
  into.u8(0);
  into.varint(event.revision);
  into.varint(0);
  into.varint(1);
  into.varint(1);
  into.varint(streamId);
  into.varint(sourceId);
  into.varint(typeId);
  into.varint(0);
  into.varint(1);
  scratch.reset();
  writePosting(into, scratch, event);
}

function writeTips(into: ByteWriter, head: HeadFields): void {
  const stride = tipStride(head.name);
  if (stride === 0) return;
  const { tips, lastRevision } = head;
  into.varint(tips.length / stride);
  const latestAt = stride === TYPE_TIP ? 1 : 3;
  for (let at = 0; at < tips.length; at++) {
    const value = tips[at] ?? 0;
    into.varint(at % stride === latestAt ? lastRevision - value : value);
  }
}

/** Throws when the row is corrupt. */
export function readHead(name: HeadName, key: Uint8Array, value: Uint8Array): HeadContent {
  const row = openRow(key, value, FORMAT);
  const isSubject = name.kind === HEAD_KIND.SUBJECT;
  const flags = row.u8();
  const id = isSubject ? 0 : row.varint();
  const firstRevision = row.varint();
  const lastRevision = firstRevision + row.varint();
  const count = row.varint();
  const lastWithoutSubject = isSubject ? 0 : row.varint();
  const spilled = flags === SPILLED;
  const tips = spilled ? [] : readTips(row, tipStride(name), lastRevision);
  const inlineCount = row.varint();
  if (tips === undefined || inlineCount > CHUNK_ENTRIES || flags > SPILLED) {
    throw unexpectedRow(key, 'it is not a head');
  }
  const inline = row.bytes(row.left);
  closeRow(key, row);
  return { name, id, firstRevision, lastRevision, lastWithoutSubject, count, spilled, tips, inlineCount, inline };
}

function readTips(row: ByteReader, stride: number, lastRevision: number): number[] | undefined {
  if (stride === 0) return [];
  const count = row.varint();
  if (count > TIPS_MAX) return undefined;
  const latestAt = stride === TYPE_TIP ? 1 : 3;
  const tips: number[] = [];
  for (let at = 0; at < count * stride; at++) {
    const value = row.varint();
    tips.push(at % stride === latestAt ? lastRevision - value : value);
  }
  return tips;
}

/** The newest entries of the list, unpacked. Throws when they are not what the head says. */
export function inlineEntries(key: Uint8Array, head: HeadContent): PostingBlock {
  return readEntries(key, new ByteReader(head.inline), head.inlineCount);
}

/**
 * Moves `last` to the newest entry of the list, and `before` to the one before it. Returns the offset of the newest one
 * among the inline entries. Throws when they are not what the head says.
 */
export function findNewest(
  key: Uint8Array,
  { inline, inlineCount }: HeadContent,
  { before, last }: { readonly before: PostingPlace; readonly last: PostingPlace },
): number {
  const row = new ByteReader(inline);
  let start = 0;
  for (let place = 0; place < inlineCount; place++) {
    before.set(last);
    start = row.at;
    if (!readPosting(row, last)) throw unexpectedRow(key, `it does not hold ${inlineCount} posting entries`);
  }
  closeRow(key, row);
  return start;
}

/** The content of a posting chunk. Throws when the row is corrupt. */
export function readChunk(key: Uint8Array, value: Uint8Array): PostingBlock {
  const row = openRow(key, value, FORMAT);
  return readEntries(key, row, row.varint());
}

/** Writes the row of a chunk or of times: `u8 format = 3 | varint count | entries | u32 CRC`. */
export function writeChunk(into: ByteWriter, count: number, entries: Uint8Array): void {
  into.u8(FORMAT);
  into.varint(count);
  into.bytes(entries);
}

/** The events in the row of a second, by time, then position. Throws when the row is corrupt. */
export function readTimeRow(key: Uint8Array, value: Uint8Array, place: TimeRowKey): readonly PostingEntry[] {
  const row = openRow(key, value, FORMAT);
  const block = readEntries(key, row, row.varint(), startOfTimes(place));
  const entries = Array.from({ length: block.count }, (_, at) => block.entry(at));
  // They are written in order of position, and the sort is stable.
  return entries.toSorted((left, right) => left.nanos - right.nanos);
}

/** The entry that the first one in a row of times is relative to: the key says its second and revision. */
export function startOfTimes({ seconds, firstRevision }: TimeRowKey): PostingPlace {
  const start = new PostingPlace();
  start.seconds = seconds;
  start.revision = firstRevision;
  return start;
}

function readEntries(key: Uint8Array, row: ByteReader, count: number, start?: PostingPlace): PostingBlock {
  const block = PostingBlock.read(row, count, start);
  if (block === undefined) throw unexpectedRow(key, `it does not hold ${count} posting entries`);
  closeRow(key, row);
  return block;
}
