// A simulated thread of a node: it does one thing after the other, can be suspended (as by a garbage collection or a
// busy machine), and does nothing after its process has died. Channels between threads keep the order, like message
// ports.
import type { Rng } from './random.ts';
import type { Simulator } from './simulator.ts';

export class Isolate {
  readonly name: string;
  readonly #simulator: Simulator;
  readonly #random: Rng;
  readonly #onFailure: (failure: unknown) => void;
  /** Work that arrived while the thread was suspended, in order. */
  readonly #held: { readonly label: string; readonly work: () => void }[] = [];
  readonly #labels = new Map<string, string>();
  #pausedUntilUs = 0;
  #isAlive = true;

  constructor(simulator: Simulator, name: string, random: Rng, onFailure: (failure: unknown) => void) {
    this.#simulator = simulator;
    this.name = name;
    this.#random = random;
    this.#onFailure = onFailure;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get nowUs(): number {
    return this.#simulator.nowUs;
  }

  /** Runs the work later. An exception of the work ends the process. */
  after(delayUs: number, label: string, work: () => void): void {
    this.#simulator.after(delayUs, this.#labelOf(label), () => this.#run(label, work));
  }

  /** Reuses one text per label, so that its hash can be cached. */
  #labelOf(label: string): string {
    let known = this.#labels.get(label);
    if (known === undefined) {
      known = `${this.name} ${label}`;
      this.#labels.set(label, known);
    }
    return known;
  }

  /** Runs the work in the next event-loop turn of this thread. */
  turn(label: string, work: () => void): void {
    this.after(this.#random.between(1, 20), label, work);
  }

  /** Called within an event of the world that delivers something to this thread. */
  arrive(label: string, work: () => void): void {
    this.#run(label, work);
  }

  async sleep(delayUs: number, label: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.after(delayUs, label, resolve);
    });
  }

  /** A channel to another thread; `latencyUs` is drawn for each message. */
  channelTo(other: Isolate, latencyUs: () => number): (label: string, work: () => void) => void {
    let lastUs = 0;
    return (label, work) => {
      if (!this.#isAlive) return;
      lastUs = Math.max(lastUs, this.nowUs + latencyUs());
      other.after(lastUs - this.nowUs, label, work);
    };
  }

  pause(durationUs: number): void {
    this.#pausedUntilUs = Math.max(this.#pausedUntilUs, this.nowUs + durationUs);
  }

  kill(): void {
    this.#isAlive = false;
  }

  #run(label: string, work: () => void): void {
    if (!this.#isAlive) return;
    const heldUs = this.#pausedUntilUs - this.nowUs;
    if (heldUs <= 0 && this.#held.length === 0) return this.#do(work);
    this.#held.push({ label, work });
    if (this.#held.length === 1) this.#resumeAfter(heldUs);
  }

  #resumeAfter(delayUs: number): void {
    this.#simulator.after(delayUs, `${this.name} resume`, () => {
      const heldUs = this.#pausedUntilUs - this.nowUs;
      if (heldUs > 0) return this.#resumeAfter(heldUs);
      const next = this.#held.shift();
      if (next !== undefined && this.#isAlive) this.#do(next.work);
      if (this.#held.length > 0) this.#resumeAfter(0);
    });
  }

  #do(work: () => void): void {
    try {
      work();
    } catch (failure) {
      this.#onFailure(failure);
    }
  }
}
