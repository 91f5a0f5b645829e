/**
 * Decompresses messages, and refuses malformed ones.
 *
 * A few kilobytes may decompress to the longest message. So a few are decompressed at a time, round-robin by
 * connection, each after reserving room for the longest message (TM1); the others wait compressed, and those whose
 * stream has closed are skipped.
 */
import { gunzip, inflate } from 'node:zlib';
import { MemoryBudget } from '../../memory-budget.ts';
import type { CallStream } from './call-stream.ts';
import type { FrameFault, Packing } from './frame-reader.ts';

const NOTHING = (): undefined => undefined;

/** `no-room`: for the longest message. `gone`: the message was refused, or its stream has closed. */
export type Unpacked = Uint8Array | 'no-room' | 'gone';

export type Sender = Pick<CallStream, 'connection' | 'isGone' | 'messageBytesMax' | 'deliver' | 'keep' | 'refuse'>;

/** Messages that are unpacked at a time. They share the threads of the pool with the writes of the store. */
const AT_ONCE = 2;
/** Its hold is never evicted. */
const STALL_MS = 10_000;

export class Unpacker {
  readonly #slots = new MemoryBudget({ bytesMax: AT_ONCE, stallMs: STALL_MS });

  /** Decompresses in a thread of the pool; never more than the longest message. */
  async unpack(message: Uint8Array, encoding: Packing, sender: Sender): Promise<Unpacked> {
    const gone = new AbortController();
    sender.keep({ release: () => gone.abort() });
    const slot = await this.#slots.of(sender.connection).take(1, NOTHING, gone.signal).catch(NOTHING);
    try {
      if (slot === undefined || sender.isGone) return 'gone';
      if (!sender.deliver(sender.messageBytesMax)) return 'no-room';
      const unpacked = await decompressed(message, encoding, sender.messageBytesMax);
      if (!(unpacked instanceof Uint8Array)) sender.refuse(unpacked);
      return unpacked instanceof Uint8Array && !sender.isGone ? unpacked : 'gone';
    } finally {
      // After the caller has counted the actual size.
      setImmediate(() => slot?.release());
    }
  }
}

function decompressed(message: Uint8Array, encoding: Packing, bytesMax: number): Promise<Uint8Array | FrameFault> {
  const decompress = encoding === 'gzip' ? gunzip : inflate;
  return new Promise((resolve) => {
    decompress(message, { maxOutputLength: bytesMax }, (error, bytes) => {
      resolve(error === null ? bytes : faultOf(error, encoding, bytesMax));
    });
  });
}

function faultOf(error: NodeJS.ErrnoException, encoding: Packing, bytesMax: number): FrameFault {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') {
    const what = `The message has more than ${bytesMax} bytes, the limit, after its ${encoding} is decompressed`;
    return { what, code: 'too_large' };
  }
  const what = `The message is not valid ${encoding}, its grpc-encoding: ${error.message}`;
  return { what: `${what}; send it so compressed, or with a first byte of 0`, as: 'INTERNAL' };
}
