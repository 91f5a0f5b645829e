/**
 * Sealed segments: gives a segment its footer, once the next one has begun, and verifies one that has it.
 *
 * A footer is written after synced data. So if it is valid, no crash explains a fault in the rest.
 */
import { compareBytes, type GroupId, ignoring } from '#base';
import { HistoryFault, type SegmentStart } from '#kv';
import { readNext, SegmentContents } from './segment-contents.ts';
import { isUnreadable, type ReadableSegment, readBlock, type SegmentDisk } from './segment-disk.ts';
import { BLOCK_BYTES, bytesUpTo, readHeader, segmentName } from './segment-format.ts';

/** A segment with a later one: the positions where both begin. */
export interface EndedSegment {
  readonly base: number;
  readonly next: number;
}

type SomeSegment = Pick<EndedSegment, 'base'> & Partial<EndedSegment>;

/** The segments that begin here, without the last one. */
export function endedSegments(bases: readonly number[]): readonly EndedSegment[] {
  return bases.slice(1).map((next, index) => ({ base: bases[index] ?? 0, next }));
}

/** Read at a time. */
const SLICE_BYTES: number = 64 * BLOCK_BYTES;

/**
 * Writes the footer, which is durable then. Writes the same bytes wherever and how often it is called. As text: why the
 * segment cannot have one.
 */
export async function sealSegment(
  disk: SegmentDisk,
  directory: string,
  { base, next }: EndedSegment,
): Promise<string | undefined> {
  const header = await readBlock(disk, `${directory}/${segmentName(next)}`, 0);
  const start = readHeader(header ?? new Uint8Array(BLOCK_BYTES));
  if (typeof start === 'string') return `in the next segment, ${start}`;
  const contents = new SegmentContents(base);
  await using file = await disk.openToWrite(`${directory}/${segmentName(base)}`, 'existing');
  const size = bytesUpTo(next, base);
  const slice = new Uint8Array(Math.min(SLICE_BYTES, size));
  for (let at = 0; at < size; at += slice.length) {
    const count = await file.read(slice.subarray(0, size - at), at).catch(ignoring(isUnreadable));
    contents.take(slice.subarray(0, count ?? 0));
  }
  const footer = contents.footer(start);
  if (typeof footer === 'string') return footer;
  await file.sync();
  await file.write(footer, size);
  await file.sync();
  return undefined;
}

/**
 * Verifies a sealed segment, for which it needs no other file: every byte, the framing of records, and that the footer
 * is the one of the data, up to `next` where that is known. Yields how many bytes it has read; returns the start of the
 * next segment, or the fault as text.
 */
export function* verifySegment(file: ReadableSegment, segment: SomeSegment): Generator<number, SegmentStart | string> {
  try {
    return yield* contentsVerified(file, segment);
  } catch (failure) {
    if (isUnreadable(failure)) return failure.message;
    throw failure;
  }
}

function* contentsVerified(
  file: ReadableSegment,
  { base, next }: SomeSegment,
): Generator<number, SegmentStart | string> {
  const size = file.size();
  const last = new Uint8Array(BLOCK_BYTES);
  file.read(last, Math.max(0, size - BLOCK_BYTES));
  const end = readNext(last);
  if (end === undefined) return 'its last block is not that of a footer';
  const { position } = end;
  const footerAt = bytesUpTo(position, base);
  if (position !== (next ?? position) || position <= base || footerAt >= size) {
    return `its footer says that it ends at position ${position}`;
  }
  const contents = new SegmentContents(base);
  const slice = new Uint8Array(Math.min(SLICE_BYTES, footerAt));
  for (let at = 0; at < footerAt; at += slice.length) {
    const count = file.read(slice.subarray(0, footerAt - at), at);
    contents.take(slice.subarray(0, count));
    yield count;
  }
  const expected = contents.footer(end);
  if (typeof expected === 'string') return expected;
  const footer = new Uint8Array(size - footerAt);
  const isSame = file.read(footer, footerAt) === footer.length && compareBytes(expected, footer) === 0;
  return isSame ? end : 'its footer is not the one of its data';
}

/** The damage of a segment as a fault of its history. */
export function damageOf(group: GroupId, { base, next }: EndedSegment, text: string): HistoryFault {
  const fault = { isMissing: false, text: `segment ${segmentName(base)}: ${text}` };
  return new HistoryFault(group, { from: base, to: next }, fault);
}
