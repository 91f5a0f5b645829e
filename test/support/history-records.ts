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

/** Records whose bytes follow from their positions. */
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
      segments.push({ position: at, revision: at + 1, chainHash: new Uint8Array(32).fill(at & 0xff) });
    }
    at += length;
  }
  return { position, bytes, segments };
}

/** Content of these positions in every test. */
export function bytesAt(from: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => ((from + index) * 31 + ((from + index) >>> 8) * 7) & 0xff);
}
