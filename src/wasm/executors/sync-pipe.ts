/**
 * One end of a pipe that blocks while it waits: an executor runs one guest at a time, and a guest that calls the host
 * waits for the answer inside its call.
 */
import { readSync, writeSync } from 'node:fs';
import { FRAME_HEAD_BYTES, frameHead } from './frames.ts';

const START_BYTES = 65_536;
/** Pause before the next try at a descriptor that does not block. */
const PAUSE_MS = 1;
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export class SyncPipe {
  readonly #fd: number;
  #buffer: Uint8Array = new Uint8Array(START_BYTES);

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Returns the next frame, valid until the next read; undefined when the other side has closed. */
  read(): Uint8Array | undefined {
    if (!this.#fill(FRAME_HEAD_BYTES)) return undefined;
    const length = new DataView(this.#buffer.buffer).getUint32(0, true);
    if (length > this.#buffer.length) this.#buffer = new Uint8Array(length);
    return this.#fill(length) ? this.#buffer.subarray(0, length) : undefined;
  }

  write(frame: Uint8Array): void {
    this.#drain(frameHead(frame.length));
    this.#drain(frame);
  }

  #fill(length: number): boolean {
    for (let at = 0; at < length; ) {
      const count = untilDone(() => readSync(this.#fd, this.#buffer, at, length - at, null));
      if (count === 0) return false;
      at += count;
    }
    return true;
  }

  #drain(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      at += untilDone(() => writeSync(this.#fd, bytes, at, bytes.length - at));
    }
  }
}

function untilDone(work: () => number): number {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(NEVER, 0, 0, PAUSE_MS);
    }
  }
}
