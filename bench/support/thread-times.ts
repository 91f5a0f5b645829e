/** The processor time of a node's threads while it is under a load that is measured. */
import { threadSeconds } from './process-cpu.ts';
import type { Sample } from './sample.ts';

/** Threads with less of the time are left out. */
const SHARE_MIN = 0.01;

export class ThreadTimes {
  readonly #pid: number;
  readonly #seconds = new Map<string, number>();
  #operations = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  async during(run: () => Promise<Sample>): Promise<Sample> {
    const before = threadSeconds(this.#pid);
    const sample = await run();
    for (const [name, seconds] of threadSeconds(this.#pid)) {
      this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + seconds - (before.get(name) ?? 0));
    }
    this.#operations += sample.operations;
    return sample;
  }

  /** Microseconds of each operation, by the names of threads. */
  text(): string {
    const total = [...this.#seconds.values()].reduce((sum, seconds) => sum + seconds, 0);
    const large = [...this.#seconds].filter(([, seconds]) => seconds >= SHARE_MIN * total);
    const each = large.map(([name, seconds]) => `${name} ${((1e6 * seconds) / this.#operations).toFixed(1)}`);
    return `${each.join(', ')} µs`;
  }
}
