// The body of a watch: messages as lines, each in two chunks, with seeded faults.
import type { MessageFault } from './faults.ts';
import type { Json } from './store.ts';

export interface Scope {
  readonly collection: string;
  readonly namespace: string | undefined;
}

const REPLAYED = 3;

type End = { readonly kind: 'ended' } | { readonly kind: 'failed'; readonly error: Error };

export class WatchStream {
  readonly scope: Scope;
  readonly #fault: () => MessageFault;
  readonly #pieces: string[] = [];
  readonly #told: string[] = [];
  #end: End | undefined;
  #isBlackHole = false;
  #wake: () => void = () => undefined;

  constructor(scope: Scope, fault: () => MessageFault) {
    this.scope = scope;
    this.#fault = fault;
  }

  push(message: Json): void {
    if (this.#end !== undefined) return;
    const line = `${JSON.stringify(message)}\n`;
    const half = Math.floor(line.length / 2);
    const fault = this.#fault();
    if (fault === 'black-hole') this.#isBlackHole = true;
    if (this.#isBlackHole) return;
    this.#pieces.push(line.slice(0, half));
    if (fault === 'cut') this.fail(new Error('socket hang up'));
    else this.#pieces.push(line.slice(half));
    this.#told.push(line);
    if (fault === 'replayed') this.#pieces.push(...this.#told.slice(-REPLAYED));
    this.#wake();
  }

  end(): void {
    if (!this.#isBlackHole) this.#close({ kind: 'ended' });
  }

  /** A black-holed connection does not even report its loss. */
  fail(error: Error): void {
    if (!this.#isBlackHole) this.#close({ kind: 'failed', error });
  }

  async *read(signal: AbortSignal, onClose: () => void): AsyncGenerator<string> {
    const abort = (): void => this.#close({ kind: 'failed', error: new Error(String(signal.reason)) });
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    try {
      for (;;) {
        for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece;
        if (this.#end?.kind === 'failed') throw this.#end.error;
        if (this.#end?.kind === 'ended') return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener('abort', abort);
      onClose();
    }
  }

  #close(end: End): void {
    this.#end ??= end;
    this.#wake();
  }
}
