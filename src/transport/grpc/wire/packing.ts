/**
 * Compressed replies, for clients that accept gzip (gRPC's compression.md).
 *
 * ```
 *   frames ── one is long enough, and a thread free ──> gzip in the pool ── half as long ──> flag 1
 *      └── none is, or nobody is free ──────────────────────────────────────── longer ─────> flag 0, as it was
 * ```
 *
 * One rule for unary replies and for streams: each message by itself, from some length on. It is an offer, and nothing
 * waits for it: a reply that finds the threads busy leaves as it is. So a client cannot make a node compress more than
 * two of them can, and there is no queue whose turns would have to be fair.
 *
 * A message that does not become half as long is not worth its unpacking. And with that bound what is made here beside
 * the frames never has more bytes than they have, which is the room that replies and slices have taken already (TM1).
 * A call that ends meanwhile keeps that room until the thread is done.
 */
import { gzip } from 'node:zlib';
import { concatBytes } from '#base';
import { FRAME_HEADER_BYTES, giveBackFrames, writeFrameHeader } from './framing.ts';

/** They share the threads of the pool with the writes of the store. */
const AT_ONCE = 2;

/** The quickest: what it saves is most of what there is to save. */
const LEVEL = 1;

const NAME = 'gzip';

export class Packer {
  readonly #bytesMin: number;
  #running = 0;

  /** `bytesMin`: messages that are shorter are left alone. */
  constructor(bytesMin: number) {
    this.#bytesMin = bytesMin;
  }

  /** What `grpc-encoding` is for a client that sends this `grpc-accept-encoding`; undefined: identity. */
  encodingFor(accepted: string | string[] | undefined): string | undefined {
    if (accepted === undefined) return undefined;
    const names = String(accepted).split(',');
    return names.some((name) => name.trim() === NAME) ? NAME : undefined;
  }

  /**
   * The same messages, of which some are compressed; or undefined, at once or later: they are to be sent as they are.
   * The frames must stay as they are until then, and nobody looks at those that were replaced.
   */
  pack(frames: Uint8Array): Promise<Uint8Array | undefined> | undefined {
    if (this.#running >= AT_ONCE || !this.#hasLong(frames)) return undefined;
    this.#running += 1;
    return this.#packed(frames);
  }

  #hasLong(frames: Uint8Array): boolean {
    if (frames.length < this.#bytesMin) return false;
    for (let at = 0; at < frames.length; at += frameBytes(frames, at)) if (this.#isLong(frames, at)) return true;
    return false;
  }

  #isLong(frames: Uint8Array, at: number): boolean {
    return frames[at] === 0 && frameBytes(frames, at) - FRAME_HEADER_BYTES >= this.#bytesMin;
  }

  async #packed(frames: Uint8Array): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    /** Up to here they are in the pieces. */
    let done = 0;
    for (let at = 0, end = 0; at < frames.length; at = end) {
      end = at + frameBytes(frames, at);
      if (!this.#isLong(frames, at)) continue;
      const packed = await halved(frames.subarray(at + FRAME_HEADER_BYTES, end));
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

/** Of the frame that begins there. */
function frameBytes(frames: Uint8Array, at: number): number {
  const high = frames[at + 1] ?? 0;
  const low = ((frames[at + 2] ?? 0) << 16) | ((frames[at + 3] ?? 0) << 8) | (frames[at + 4] ?? 0);
  return FRAME_HEADER_BYTES + high * 2 ** 24 + low;
}

/** Undefined: it has no such form of half its length, or there is no memory for it. */
function halved(message: Uint8Array): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    gzip(message, { level: LEVEL, maxOutputLength: Math.floor(message.length / 2) }, (error, packed) => {
      resolve(error === null ? packed : undefined);
    });
  });
}

function header(length: number): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES);
  writeFrameHeader(bytes, 0, length);
  bytes[0] = 1;
  return bytes;
}
