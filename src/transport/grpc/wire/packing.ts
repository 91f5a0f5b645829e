/**
 * Compressed replies, for clients that accept gzip (gRPC's compression.md).
 *
 * ```
 *   frames ── one is long enough, and a thread free ──> gzip in the pool ── half as long ──> flag 1
 *      └── none is, or no thread is ────────────────────────────────────────── longer ─────> flag 0, as it was
 * ```
 *
 * Unary replies and streams have one rule: each message is compressed separately, from a minimum length on. Nothing
 * waits for it: a reply that finds the threads busy is sent uncompressed. So a client cannot make a node compress more
 * than two threads can, and there is no queue that would have to be fair.
 *
 * A message that does not become half as long is not worth decompressing. With that bound the copies never have more
 * bytes than the frames, which is the room that replies and slices have reserved (TM1). A call that ends meanwhile
 * keeps that room until the thread is done.
 */
import { concatBytes } from '#base';
import { GZIP_AT_ONCE, gzipped } from '../../gzip.ts';
import { FRAME_HEADER_BYTES, frameLength, giveBackFrames, writeFrameHeader } from './framing.ts';

const NAME = 'gzip';

export class Packer {
  readonly #bytesMin: number;
  #running = 0;

  /** `bytesMin`: shorter messages are not compressed. */
  constructor(bytesMin: number) {
    this.#bytesMin = bytesMin;
  }

  /** Value of `grpc-encoding` for a client with this `grpc-accept-encoding`; undefined: identity. */
  encodingFor(accepted: string | string[] | undefined): string | undefined {
    if (accepted === undefined) return undefined;
    const names = String(accepted).split(',');
    return names.some((name) => name.trim() === NAME) ? NAME : undefined;
  }

  /**
   * Returns the same messages, some of them compressed; undefined, at once or later, when they are to be sent
   * unchanged. The frames must not change until then, and replaced ones are not used again.
   */
  pack(frames: Uint8Array): Promise<Uint8Array | undefined> | undefined {
    if (this.#running >= GZIP_AT_ONCE || !this.#hasLong(frames)) return undefined;
    this.#running += 1;
    return this.#packed(frames);
  }

  #hasLong(frames: Uint8Array): boolean {
    if (frames.length < this.#bytesMin) return false;
    for (let at = 0; at < frames.length; at += frameLength(frames, at)) if (this.#isLong(frames, at)) return true;
    return false;
  }

  #isLong(frames: Uint8Array, at: number): boolean {
    return frames[at] === 0 && frameLength(frames, at) - FRAME_HEADER_BYTES >= this.#bytesMin;
  }

  async #packed(frames: Uint8Array): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    /** End of the bytes that are in the pieces. */
    let done = 0;
    for (let at = 0, end = 0; at < frames.length; at = end) {
      end = at + frameLength(frames, at);
      if (!this.#isLong(frames, at)) continue;
      const message = frames.subarray(at + FRAME_HEADER_BYTES, end);
      const packed = await gzipped(message, Math.floor(message.length / 2));
      if (packed === undefined) continue;
      pieces.push(frames.subarray(done, at), header(packed.length), packed);
      done = end;
    }
    this.#running -= 1;
    if (done === 0) return undefined;
    const all = concatBytes([...pieces, frames.subarray(done)]);
    giveBackFrames(frames);
    return all;
  }
}

function header(length: number): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES);
  writeFrameHeader(bytes, 0, length);
  bytes[0] = 1;
  return bytes;
}
