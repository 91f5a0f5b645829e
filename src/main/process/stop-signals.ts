/**
 * Listens for stop signals from the first moment, because loading the program takes a large part of a start. It imports
 * nothing, because it runs before anything is loaded.
 *
 * Listen only in the final process. A process that is about to replace itself (v8-options.ts) would receive the signal
 * and never handle it; without a listener the signal ends it, and nothing was opened.
 */

const EXIT_IMPATIENT = 1;

/**
 * A signal shortly after the first counts as the same one: Ctrl-C reaches a process from the terminal and again from
 * npm. A repeated SIGTERM always counts as the same one: a preStop hook and the container runtime may both send it.
 */
const SAME_SIGNAL_WITHIN_MS = 500;

export class StopSignals {
  /** Resolves with the first signal. */
  readonly arrived: Promise<NodeJS.Signals>;
  /** The first signal, once it has arrived. */
  first: NodeJS.Signals | undefined;
  /** Called for a later SIGINT of a person who does not want to wait. */
  onAnother: (signal: NodeJS.Signals) => void = endAtOnce;
  /** Stops listening, so that a signal ends the process as usual. For commands that leave nothing half done. */
  readonly close: () => void;
  #firstAtMs = 0;

  /** Starts listening. */
  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.arrived = promise;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.first === undefined) {
        this.first = signal;
        this.#firstAtMs = performance.now();
        resolve(signal);
      } else if (signal !== 'SIGTERM' && performance.now() - this.#firstAtMs > SAME_SIGNAL_WITHIN_MS) {
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

  /** Returns the first signal if it has arrived: the process notices a signal only between two tasks. */
  async firstSoFar(): Promise<NodeJS.Signals | undefined> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return this.first;
  }
}

/** Ends the process without a drain. */
export function endAtOnce(): never {
  process.exit(EXIT_IMPATIENT);
}
