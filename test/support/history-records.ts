// Records for tests of histories: an append of whole records, with segments that begin at every `segmentBytes`, as
// #database cuts them.
import type { HistoryAppend, SegmentStart } from '#kv';

export interface RecordsAt {
  readonly position: number;
  /** Start of the last segment so far; undefined at the beginning. */
  readonly segment?: number | undefined;
  /** Lengths of the records. */
  readonly lengths: readonly number[];
  readonly segmentBytes?: number;
}

/** Records whose bytes follow from their positions. Sealed segments have whole ones if all lengths are even. */
export function recordsAt({
  position,
  segment,
  lengths,
  segmentBytes = Number.POSITIVE_INFINITY,
}: RecordsAt): HistoryAppend {
  const bytes = bytesAt(
    position,
    lengths.reduce((sum, length) => sum + length, 0),
  );
  const segments: SegmentStart[] = [];
  let last = segment;
  let at = position;
  for (const length of lengths) {
    if (last === undefined || at >= last + segmentBytes) {
      last = at;
      segments.push(startAt(at));
    }
    at += length;
  }
  return { position, bytes, segments };
}

/** Start of a segment at the position in every test. */
export function startAt(position: number): SegmentStart {
  const chainHash = new Uint8Array(32).fill(position & 0xff);
  return { position, revision: 1, chainHash, totalEvents: position, recordedTimeMs: 2 * position };
}

/** Content of these positions in every test: an unknown kind and the length 0, again and again. */
export function bytesAt(from: number, length: number): Uint8Array {
  const byteAt = (at: number): number => (at % 2 === 0 ? (at * 31 + (at >>> 8) * 7) & 0xfe : 0);
  return Uint8Array.from({ length }, (_, index) => byteAt(from + index));
}
