// Virtual time. Everything in a run happens in an event of this queue or in the microtasks after it: before the next
// event, all resolved promises have continued. Real timers, clocks and random numbers have no influence.
import { EventQueue } from './event-queue.ts';
import { Rng } from './random.ts';
import { Trace } from './trace.ts';

/** Saved before it can be replaced. */
const realImmediate = setImmediate;
/** Runs all pending microtasks without a turn of the event loop, which would cost more than most events. */
const runMicrotasks = Reflect.get(process, '_tickCallback') as () => void;
const EVENTS_MAX = 5000;

export class Simulator {
  readonly seed: number;
  readonly trace: Trace;
  readonly #queue = new EventQueue();
  #nowUs = 0;

  constructor(seed: number, listener?: (line: string) => void) {
    this.seed = seed;
    this.trace = new Trace(listener);
  }

  /** Microseconds since the start of the run. */
  get nowUs(): number {
    return this.#nowUs;
  }

  /** The random stream with this name. */
  random(name: string): Rng {
    return new Rng(this.seed, name);
  }

  after(delayUs: number, label: string, run: () => void): void {
    this.#queue.push(this.#nowUs + Math.max(0, Math.round(delayUs)), label, run);
  }

  /** Resolves after this virtual time. */
  async sleep(delayUs: number, label: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.after(delayUs, label, resolve);
    });
  }

  /** `key` becomes part of the hash of the run; `text` is the readable form and defaults to the key. */
  note(key: string, text: () => string = () => key): void {
    this.trace.note(this.#nowUs, key, text);
  }

  /** Advances time until the condition holds, or until the limit; returns false in the second case. */
  async runUntil(isDone: () => boolean, limitUs: number): Promise<boolean> {
    for (;;) {
      const isReached = await inMacrotask(() => this.#runSome(isDone, limitUs));
      if (isReached !== undefined) return isReached;
    }
  }

  /** Runs a limited number of events between turns of the real event loop; undefined when there is more to do. */
  #runSome(isDone: () => boolean, limitUs: number): boolean | undefined {
    for (let count = 0; count < EVENTS_MAX; count += 1) {
      runMicrotasks();
      if (isDone()) return true;
      const { nextUs } = this.#queue;
      if (nextUs === undefined || nextUs > limitUs) {
        this.#nowUs = Math.max(this.#nowUs, Math.min(limitUs, nextUs ?? limitUs));
        return false;
      }
      const event = this.#queue.pop();
      if (event === undefined) return false;
      this.#nowUs = event.atUs;
      this.trace.event(event.atUs, event.label);
      event.run();
    }
    return undefined;
  }
}

/** Runs the work outside of any microtask, because only then it can run all pending microtasks. */
async function inMacrotask<Value>(work: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    realImmediate(() => {
      try {
        resolve(work());
      } catch (failure) {
        reject(failure instanceof Error ? failure : new Error(String(failure)));
      }
    });
  });
}
