/** Flow control of a stream of slices: the reader sets when the next slice is read, and its size. (Q5, Q8) */

export interface SlicePace {
  /** Target size of the next slice: it ends when it reaches the size, and has at most twice as many bytes. */
  readonly bytes: number;
  /** Undefined, or a promise until the next slice may be read. It rejects when the reader has gone. */
  ready(): Promise<void> | undefined;
  /**
   * Returns true when a slice may exceed twice `bytes`, because one event or one transaction is that large. False: the
   * slice is released, and `ready` waits for room for it.
   */
  admits(bytes: number): boolean;
  /** Called when no slice is being read, until the next `ready`. */
  rest(): void;
}

/** Default size of a slice. */
const SLICE_BYTES = 256 * 1024;

/** The pace of a reader that pulls: each slice is read on demand, with any contents. */
export function pulled(bytes: number = SLICE_BYTES): SlicePace {
  return { bytes, ready: () => undefined, admits: () => true, rest: () => undefined };
}
