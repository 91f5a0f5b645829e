/** Passes the messages of a request stream to its handler, in order and decompressed. */
import { assert } from '#base';
import type { MessageListener } from './call-stream.ts';
import type { RequestListener } from './method.ts';
import type { PeerStream } from './peer-stream.ts';
import type { Unpacker } from './unpacking.ts';

export interface RequestMessagesOptions {
  readonly peer: PeerStream;
  readonly unpacker: Unpacker;
  readonly listener: RequestListener;
  /** Ends the call when the work throws. */
  readonly run: (work: () => void) => void;
}

export class RequestMessages implements MessageListener {
  readonly #options: RequestMessagesOptions;
  /** Resolves when every previous message was passed on; undefined: none waits. */
  #before: Promise<void> | undefined;

  constructor(options: RequestMessagesOptions) {
    this.#options = options;
  }

  message(message: Uint8Array, isPacked: boolean): void {
    const { listener } = this.#options;
    this.#behind(isPacked ? () => this.#unpack(message) : () => listener.message(message), isPacked);
  }

  end(): void {
    this.#behind(() => this.#options.listener.end(), false);
  }

  /** Runs the work after the waiting messages; at once if there are none. */
  #behind(work: () => void | Promise<void>, isSlow: boolean): void {
    const { run } = this.#options;
    if (this.#before === undefined && !isSlow) return run(() => void work());
    const done = (this.#before ?? Promise.resolve()).then(work);
    done.catch((failure: unknown) => {
      run(() => {
        throw failure;
      });
    });
    this.#before = done;
  }

  /** Its bytes are counted with the stream. */
  async #unpack(message: Uint8Array): Promise<void> {
    const { peer, unpacker, listener } = this.#options;
    const { encoding, connection } = peer;
    assert(encoding !== undefined, 'A message is compressed by what its stream says');
    const unpacked = await unpacker.unpack(message, encoding, {
      connection,
      get isGone() {
        return peer.isGone;
      },
      messageBytesMax: peer.messageBytesMax,
      deliver: () => true,
      keep: (room) => peer.keep(room),
    });
    if (unpacked.kind === 'message') listener.message(unpacked.message);
    else if (unpacked.kind === 'fault') peer.refuse(unpacked.fault);
  }
}
