/**
 * Compressed messages, as they came, and what is wrong with those that are none.
 *
 * A few kilobytes may unpack to the longest message there is. So a few are unpacked at a time, by connection in turn,
 * each with room for the longest message taken before (TM1); the others wait as they came, and those whose stream has
 * gone are never unpacked.
 */
import { gunzip, inflate } from 'node:zlib';
import { MemoryBudget } from '../../memory-budget.ts';
import type { FrameFault, Packing } from './frame-faults.ts';
import type { Room } from './peer-stream.ts';

const NOTHING = (): undefined => undefined;

export type Unpacked =
  | { readonly kind: 'message'; readonly message: Uint8Array }
  | { readonly kind: 'fault'; readonly fault: FrameFault }
  /** There was no room for what it might be. */
  | { readonly kind: 'no-room' }
  /** Its stream has ended meanwhile. */
  | { readonly kind: 'gone' };

/** The stream of a message. */
export interface Sender {
  readonly connection: object;
  readonly isGone: boolean;
  /** Longest message, unpacked. */
  readonly messageBytesMax: number;
  /** Takes room for so many bytes, or has no more than that from now on; false: there is no room. */
  deliver(messageBytes: number): boolean;
  /** Releases it when the stream has gone, if not before. */
  keep(room: Room): void;
}

/** Messages that are unpacked at a time. They share the threads of the pool with the writes of the store. */
const AT_ONCE = 2;
/** Nothing of it is evicted. */
const PATIENCE_MS = 10_000;

export class Unpacker {
  readonly #slots = new MemoryBudget({ bytesMax: AT_ONCE, patienceMs: PATIENCE_MS });

  /** Unpacks in a thread of the pool; never more than the longest message. */
  async unpack(message: Uint8Array, encoding: Packing, sender: Sender): Promise<Unpacked> {
    const gone = new AbortController();
    sender.keep({ release: () => gone.abort() });
    const slot = await this.#slots.of(sender.connection).take(1, NOTHING, gone.signal).catch(NOTHING);
    try {
      if (slot === undefined || sender.isGone) return { kind: 'gone' };
      if (!sender.deliver(sender.messageBytesMax)) return { kind: 'no-room' };
      return await unpacked(message, encoding, sender.messageBytesMax);
    } finally {
      // After the caller has counted what it has turned out to be.
      setImmediate(() => slot?.release());
    }
  }
}

function unpacked(message: Uint8Array, encoding: Packing, bytesMax: number): Promise<Unpacked> {
  const decompress = encoding === 'gzip' ? gunzip : inflate;
  return new Promise((resolve) => {
    decompress(message, { maxOutputLength: bytesMax }, (error, bytes) => {
      if (error === null) resolve({ kind: 'message', message: bytes });
      else resolve({ kind: 'fault', fault: faultOf(error, encoding, bytesMax) });
    });
  });
}

function faultOf(error: NodeJS.ErrnoException, encoding: Packing, bytesMax: number): FrameFault {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'unpacked-too-long', encoding, bytesMax };
  return { kind: 'not-packed', encoding, why: error.message };
}
