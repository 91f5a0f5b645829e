/**
 * The signals that tell a node to stop, from the first moment on: loading what a node consists of takes a good part of
 * its start. Imports nothing, because it listens before anything is loaded.
 *
 * Listen only in the process that stays. One that is about to replace itself (v8-options.ts) would take a signal and
 * never get to it; without a listener the signal ends it, and nothing was opened.
 */

const EXIT_IMPATIENT = 1;

/**
 * A signal right behind the first is the same one: Ctrl-C reaches a process from the terminal and again from the npm
 * that started it. SIGTERM is the same one however often it comes, for whoever sends it may not know of the first: a
 * hook before the stop of a container, and then what stops it.
 */
const SAME_SIGNAL_WITHIN_MS = 500;

export class StopSignals {
  /** Resolves with the first. */
  readonly told: Promise<NodeJS.Signals>;
  /** The first, once it has come. */
  first: NodeJS.Signals | undefined;
  /** Called for a later one of somebody who does not want to wait. */
  onAnother: (signal: NodeJS.Signals) => void = endAtOnce;
  /** Listens no more: a signal ends the process, as where nobody listens. For commands that leave nothing half done. */
  readonly close: () => void;
  #toldAtMs = 0;

  /** Listens from now on. */
  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.told = promise;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.first === undefined) {
        this.first = signal;
        this.#toldAtMs = performance.now();
        resolve(signal);
      } else if (signal !== 'SIGTERM' && performance.now() - this.#toldAtMs > SAME_SIGNAL_WITHIN_MS) {
        this.onAnother(signal);
      }
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    this.close = () => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
    };
  }

  /** The first, if it has come by now: the process notices it only between two pieces of work. */
  async firstSoFar(): Promise<NodeJS.Signals | undefined> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return this.first;
  }
}

/** Without a drain. */
export function endAtOnce(): never {
  process.exit(EXIT_IMPATIENT);
}
