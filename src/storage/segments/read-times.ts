/**
 * Tells from the times of its reads whether a file is in the page cache, where a read on the thread waits for no disk.
 *
 * A slow read alone says little, because the thread may have lost its processor. It counts when the process has read
 * from a disk meanwhile, or when several in a row were slow, as on a file system that does not count its reads. Reads
 * then leave the thread, except for one after each pause, which shows whether the file is in the cache by now. Each
 * that shows the opposite doubles the pause.
 */

/** A read from the page cache takes a few microseconds. */
const SLOW_MS = 1;
const SLOW_IN_A_ROW = 3;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 6_400;

export interface ReadClock {
  readonly nowMs: () => number;
  /** Reads from disks so far, of the whole process. */
  readonly diskReads: () => number;
}

export class ReadTimes {
  readonly #clock: ReadClock;
  #diskReads = 0;
  #slowInARow = 0;
  #pauseMs = PAUSE_MS_MIN;
  /** Absent while the file counts as being in the page cache. */
  #nextAtMs: number | undefined;

  constructor(clock: ReadClock) {
    this.#clock = clock;
  }

  /** True when the next read probably waits for the disk. */
  get isCold(): boolean {
    return this.#nextAtMs !== undefined && this.#clock.nowMs() < this.#nextAtMs;
  }

  /** Runs a read on the thread, and notes how long it took. */
  timed<Result>(read: () => Result): Result {
    const startMs = this.#clock.nowMs();
    const result = read();
    const endMs = this.#clock.nowMs();
    if (endMs - startMs > SLOW_MS) this.#noteSlow(endMs);
    else this.#noteFast();
    return result;
  }

  #noteFast(): void {
    this.#slowInARow = 0;
    if (this.#nextAtMs === undefined) return;
    this.#nextAtMs = undefined;
    this.#pauseMs = PAUSE_MS_MIN;
  }

  #noteSlow(nowMs: number): void {
    const diskReads = this.#clock.diskReads();
    const hasRead = diskReads !== this.#diskReads;
    this.#diskReads = diskReads;
    this.#slowInARow += 1;
    if (!hasRead && this.#nextAtMs === undefined && this.#slowInARow < SLOW_IN_A_ROW) return;
    if (this.#nextAtMs !== undefined) this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
    this.#nextAtMs = nowMs + this.#pauseMs;
  }
}
