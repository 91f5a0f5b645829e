/** Waiting for progress in a subscription. */
import type { Binding } from '#cluster';
import type { ServiceContext } from './context.ts';
import { goneFrom } from './instance.ts';

/** Waits for the first of: a new revision, the heartbeat interval, or the end. */
export class Progress implements Disposable {
  readonly #context: ServiceContext;
  readonly #binding: Binding;
  readonly #signal: AbortSignal;
  readonly #stopListening: () => void;
  readonly #onAbort = (): void => this.#wake?.();
  #stopTimer: (() => void) | undefined;
  #isSilent = false;
  #isGone = false;
  #wake: (() => void) | undefined;

  constructor(context: ServiceContext, binding: Binding, signal: AbortSignal) {
    this.#context = context;
    this.#binding = binding;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    this.#stopListening = context.node.onReadable(binding.group, (revision) => {
      if (revision === undefined) this.#isGone = true;
      this.#wake?.();
    });
  }

  /** True when nothing was sent to the reader for a whole interval. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Restarts the interval after something was sent to the reader. */
  heardFrom(heartbeatMs: number): void {
    this.#stopTimer?.();
    this.#isSilent = false;
    this.#stopTimer = this.#context.timers.after(heartbeatMs, () => {
      this.#isSilent = true;
      this.#wake?.();
    });
  }

  async next(seen: number): Promise<'moved' | 'silence'> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#isGone) throw goneFrom(this.#context.node, this.#binding);
      if (this.#context.node.readable(this.#binding.group) > seen) return 'moved';
      if (this.#isSilent) return 'silence';
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    this.#stopListening();
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
