/** CPU time per thread of one or several nodes during a load. */
import { threadSeconds } from './process-cpu.ts';
import type { Sample, Turns } from './sample.ts';

/** Threads with a smaller share are omitted. */
const SHARE_MIN = 0.01;

export class ThreadTimes {
  readonly #pids: readonly number[];
  readonly #seconds = new Map<string, number>();
  #operations = 0;

  constructor(...pids: readonly number[]) {
    this.#pids = pids;
  }

  async during(run: () => Promise<Sample>): Promise<Sample> {
    const before = this.#pids.map(threadSeconds);
    const sample = await run();
    for (const [at, pid] of this.#pids.entries()) {
      for (const [name, seconds] of threadSeconds(pid)) {
        this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + seconds - (before[at]?.get(name) ?? 0));
      }
    }
    this.#operations += sample.operations;
    return sample;
  }

  /** Microseconds per operation, by thread name. */
  text(): string {
    const total = [...this.#seconds.values()].reduce((sum, seconds) => sum + seconds, 0);
    const large = [...this.#seconds].filter(([, seconds]) => seconds >= SHARE_MIN * total);
    const each = large.map(([name, seconds]) => `${name} ${((1e6 * seconds) / this.#operations).toFixed(1)}`);
    return `${each.join(', ')} µs`;
  }
}

/** The turns, with the CPU time by thread of a node as their remark. */
export function threadTimed(pid: number, turns: Turns): Turns {
  const times = new ThreadTimes(pid);
  return { ...turns, run: (seconds) => times.during(() => turns.run(seconds)), note: () => times.text() };
}
