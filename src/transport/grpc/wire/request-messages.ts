/**
 * The messages of a request stream, in order and decompressed. They end with the request, or with the call.
 *
 * Messages that arrive while the handler works wait here. Their bytes are counted with the stream, and their sum on one
 * stream is bounded (T4).
 */
import { assert } from '#base';
import type { Call } from './call.ts';
import type { StreamedMessages } from './call-stream.ts';
import { FRAME_HEADER_BYTES } from './framing.ts';
import type { Unpacked, Unpacker } from './unpacking.ts';

/** Overhead of a message besides its frame, so that empty ones are bounded, too. */
const AROUND_MESSAGE_BYTES = 64;

export interface RequestMessagesOptions {
  readonly call: Call;
  readonly unpacker: Unpacker;
  /** Maximum bytes of all messages; beyond it the call ends. */
  readonly bytesMax: number;
}

export class RequestMessages implements StreamedMessages, AsyncIterable<Uint8Array> {
  readonly #options: RequestMessagesOptions;
  #waiting: { readonly message: Uint8Array; readonly isPacked: boolean }[] = [];
  #bytes = 0;
  #hasEnded = false;
  /** Continues the iteration that waits for a message. */
  #wake: () => void = () => undefined;

  constructor(options: RequestMessagesOptions) {
    this.#options = options;
    options.call.signal.addEventListener('abort', () => this.end());
  }

  take(message: Uint8Array, isPacked: boolean): void {
    const { call, bytesMax } = this.#options;
    if (call.ended) return;
    this.#bytes += FRAME_HEADER_BYTES + message.length + AROUND_MESSAGE_BYTES;
    this.#waiting.push({ message, isPacked });
    if (this.#bytes <= bytesMax) return this.#wake();
    this.#waiting = [];
    const words = 'This stream has reached its limit of requests; continue with another stream';
    call.finish({ code: 'RESOURCE_EXHAUSTED', message: words });
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const { call } = this.#options;
    while (!call.ended) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        const message = next.isPacked ? await this.#unpacked(next.message) : next.message;
        if (typeof message === 'string') return;
        call.received();
        yield message;
      } else if (this.#hasEnded) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #unpacked(message: Uint8Array): Promise<Unpacked> {
    const { unpacker, call } = this.#options;
    const { packing } = call.peer.headers;
    assert(packing !== undefined, 'A message is compressed by what its stream says');
    return unpacker.unpack(message, packing, call.peer);
  }
}
