/** Workloads, their contenders, and the alternating execution of these. */
import type { Latencies } from './latencies.ts';
import { killServers } from './server-process.ts';

export interface Sample {
  /** Number of operations, or of events when the workload counts events. */
  readonly operations: number;
  readonly failed: number;
  readonly seconds: number;
  readonly latencies: Latencies;
  readonly serverCpuSeconds: number;
  readonly clientCpuSeconds: number;
  /** Bytes that the server has written to its disk, where the workload measures them. */
  readonly writtenBytes?: number;
}

export interface Contender {
  readonly peer: string;
  /** Directory of its server; the processes of this directory are killed when the contender takes too long. */
  readonly directory: string;
  /** Starts and fills its server, if necessary. */
  open(): Promise<Turns>;
}

export interface Turns {
  run(seconds: number): Promise<Sample>;
  /** Warm-up with many callers, for workloads with one: a single caller would take minutes to warm up the server. */
  warmUp?(seconds: number): Promise<Sample>;
  /** A remark, evaluated after the measurement. */
  note?(): string;
}

export interface Workload {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly clients: number;
  readonly eventBytes: number;
  /** The first contender is the subject of the workload; ratios are its rate divided by the other's. */
  readonly contenders: readonly Contender[];
}

export interface Series {
  readonly peer: string;
  readonly samples: readonly Sample[];
  readonly note?: string | undefined;
  /** Why the contender has no more samples. */
  readonly failure?: string | undefined;
}

export interface Plan {
  readonly rounds: number;
  readonly seconds: number;
  /** Duration of the load before the first round, because a JIT compiler needs thousands of calls. */
  readonly warmUpSeconds: number;
  /** Time that a turn may take beyond its duration. */
  readonly limitSeconds: number;
}

/** Opening a contender may take this many times the limit of a turn, because it may load millions of events. */
const OPENING_LIMITS = 5;
/** A measurement of Cairn alone loads millions of events and has several phases. */
const ALONE_LIMITS = 20;

/**
 * Runs all contenders in turn, `rounds` times, so that disturbances affect them alike. A contender that fails or takes
 * too long is out, and its servers are killed: a server that hangs does not end the run.
 */
export async function compete(workload: Workload, plan: Plan): Promise<readonly Series[]> {
  const { rounds, seconds, warmUpSeconds, limitSeconds } = plan;
  const entries = workload.contenders.map((contender) => new Entry(contender));
  for (const each of entries) await each.open(limitSeconds * OPENING_LIMITS);
  for (const each of entries) {
    await each.turn(warmUpSeconds + limitSeconds, (turns) => turns.warmUp?.(warmUpSeconds) ?? turns.run(warmUpSeconds));
  }
  for (let round = 0; round < rounds; round++) {
    for (const each of entries) {
      each.keep(await each.turn(seconds + limitSeconds, (turns) => turns.run(seconds)));
    }
  }
  return entries.map((each) => each.series());
}

/** Runs a measurement of Cairn alone. When it fails or takes too long, the servers in the directory are killed. */
export async function measureAlone<Result>(
  directory: string,
  { limitSeconds }: Plan,
  work: () => Promise<Result>,
): Promise<Outcome<Result>> {
  return within(limitSeconds * ALONE_LIMITS, directory, work);
}

class Entry {
  readonly #contender: Contender;
  readonly #samples: Sample[] = [];
  #turns: Turns | undefined;
  #failure: string | undefined;

  constructor(contender: Contender) {
    this.#contender = contender;
  }

  async open(limitSeconds: number): Promise<void> {
    this.#turns = await this.#try(limitSeconds, () => this.#contender.open());
  }

  async turn(limitSeconds: number, work: (turns: Turns) => Promise<Sample>): Promise<Sample | undefined> {
    const turns = this.#turns;
    return turns === undefined || this.#failure !== undefined ? undefined : this.#try(limitSeconds, () => work(turns));
  }

  keep(sample: Sample | undefined): void {
    if (sample !== undefined) this.#samples.push(sample);
  }

  series(): Series {
    const { peer } = this.#contender;
    const note = this.#failure === undefined ? this.#turns?.note?.() : undefined;
    return { peer, samples: this.#samples, note, failure: this.#failure };
  }

  async #try<Result>(limitSeconds: number, work: () => Promise<Result>): Promise<Result | undefined> {
    const { result, failure } = await within(limitSeconds, this.#contender.directory, work);
    this.#failure = failure;
    return result;
  }
}

interface Outcome<Result> {
  readonly result?: Result;
  readonly failure?: string;
}

/** Runs the work. When it fails or takes too long, the servers in the directory are killed. */
async function within<Result>(
  limitSeconds: number,
  directory: string,
  work: () => Promise<Result>,
): Promise<Outcome<Result>> {
  const { promise: over, resolve: end } = Promise.withResolvers<Outcome<Result>>();
  const failure = `ended after ${limitSeconds} s, its servers killed`;
  const timer = setTimeout(() => end({ failure }), limitSeconds * 1000);
  // After the limit, the work fails because its servers have ended.
  const done = work().then(
    (result) => ({ result }),
    (error: unknown) => ({ failure: `failed: ${error instanceof Error ? error.message : String(error)}` }),
  );
  const outcome = await Promise.race([done, over]);
  clearTimeout(timer);
  if ('failure' in outcome) await killServers(directory);
  return outcome;
}
