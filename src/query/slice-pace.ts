/**
 * How the reader of a stream of slices says when the next slice may be read, and how large it may be. (Q5, Q8)
 */

export interface SlicePace {
  /** About how many bytes the next slice may have: it ends with what reaches them, and has twice as many at most. */
  readonly bytes: number;
  /** Nothing, or a promise of the moment when the next slice may be read. It rejects when the reader has gone. */
  ready(): Promise<void> | undefined;
  /**
   * Whether a slice may have so many bytes, more than twice `bytes`, because one event or one page has them. False:
   * then nothing of it is held, and the promise of `ready` is that of room for it.
   */
  admits(bytes: number): boolean;
  /** No slice is being read now, until `ready` is called again. */
  rest(): void;
}

/** Default size of a slice. */
const SLICE_BYTES = 256 * 1024;

/** Of a reader who decides by pulling: each slice is read when it is asked for, whatever is in it. */
export function pulled(bytes: number = SLICE_BYTES): SlicePace {
  return { bytes, ready: () => undefined, admits: () => true, rest: () => undefined };
}
