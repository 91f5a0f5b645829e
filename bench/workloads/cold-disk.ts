/**
 * Reads from a slow disk: the node runs with slow-reads.c, by which each read of a segment takes a few milliseconds, as
 * if nothing were in the page cache. It shows whether such reads stall the node, and whether the reads of one call run
 * at the same time.
 */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { appendRequests, type CairnNode, QUERY_EVENTS, startCairn, THIS_BUILD, TRANSACT } from '../peers/cairn.ts';
import { closedLoop, type LoadResult } from '../support/closed-loop.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { type Figure, spread } from '../support/results.ts';
import type { Plan } from '../support/sample.ts';
import type { Measurement, Preparation } from './named.ts';
import { DATABASE, loadEvents, subjectReads } from './read.ts';
import { settled } from './scale.ts';

const NAME = 'cold-disk';
const READ_MS = 5;
const READERS = 16;
const WRITERS = 16;
const EVENT_BYTES = 256;
const SOURCE = resolve(import.meta.dirname, '../support/slow-reads.c');
/** Interval of the timer by which Node.js measures the delay of the event loop, and which it does not subtract. */
const LOOP_TIMER_MS = 10;
/** The node renders its metrics once a second. */
const METRICS_MS = 1_100;

export function coldDisk({ arena, events }: Preparation): Measurement {
  return {
    name: NAME,
    directory: arena.at(NAME),
    what: `Each read of a segment takes ${READ_MS} ms more. Readers read the ten events of one subject among ${events} events, in other places each time; writers append single events with a condition. Loop: the delay of the event loop of the thread that serves clients.`,
    figures: async (plan) => {
      const library = join(arena.dir, 'slow-reads.so');
      await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE]);
      const directory = arena.at(NAME);
      const fresh = await startCairn(directory);
      await loadEvents(fresh, events);
      await settled(fresh);
      await fresh.stop();
      const env = { LD_PRELOAD: library, SLOW_READS_MS: String(READ_MS) };
      const node = await startCairn(directory, { ...THIS_BUILD, env });
      try {
        return await new ColdNode(node, events, arena.numbers()).measure(plan);
      } finally {
        await node.stop();
      }
    },
  };
}

interface Phase {
  readonly readers: LoadResult | undefined;
  readonly writers: LoadResult | undefined;
  readonly loopP99: number;
}

class ColdNode {
  readonly #node: CairnNode;
  readonly #queries: { next(): Buffer };
  readonly #appends: { next(): Buffer };

  constructor(node: CairnNode, events: number, numbers: number) {
    this.#node = node;
    this.#queries = subjectReads(events, 'far');
    const shape = { database: DATABASE, events: 1, eventBytes: EVENT_BYTES, conditional: true };
    this.#appends = appendRequests(shape, numbers);
  }

  async measure({ rounds, seconds, warmUpSeconds }: Plan): Promise<readonly Figure[]> {
    const phases = new Map<string, { readonly readers: number; readonly writers: number; readonly found: Phase[] }>([
      ['1 reader', { readers: 1, writers: 0, found: [] }],
      [`${READERS} readers`, { readers: READERS, writers: 0, found: [] }],
      [`${WRITERS} writers`, { readers: 0, writers: WRITERS, found: [] }],
      [`${WRITERS} writers and ${READERS} readers`, { readers: READERS, writers: WRITERS, found: [] }],
    ]);
    await this.#phase({ readers: READERS, writers: WRITERS }, warmUpSeconds);
    for (let round = 0; round < rounds; round++) {
      for (const each of phases.values()) each.found.push(await this.#phase(each, seconds));
    }
    return [...phases].map(([name, { found }]) => ({ contender: `cairn, ${name}`, text: textOf(found) }));
  }

  async #phase(callers: { readonly readers: number; readonly writers: number }, seconds: number): Promise<Phase> {
    await delay(METRICS_MS);
    // Each rendering of the metrics begins a new measurement of the loop.
    await this.#loopP99();
    const lasting = Math.max(seconds, METRICS_MS / 1000);
    const [readers, writers] = await Promise.all([
      this.#load(QUERY_EVENTS, { clients: callers.readers, seconds: lasting, request: () => this.#queries.next() }),
      this.#load(TRANSACT, { clients: callers.writers, seconds: lasting, request: () => this.#appends.next() }),
    ]);
    return { readers, writers, loopP99: await this.#loopP99() };
  }

  async #load(
    path: string,
    load: { readonly clients: number; readonly seconds: number; request(): Buffer },
  ): Promise<LoadResult | undefined> {
    if (load.clients === 0) return undefined;
    const result = await closedLoop({ address: this.#node.address, headers: grpcHeaders(path), ...load });
    if (result.failed > 0) throw new Error(`${result.failed} of ${result.calls} calls of ${path} failed`);
    return result;
  }

  /** In milliseconds, since the last call. */
  async #loopP99(): Promise<number> {
    const text = await (await fetch(this.#node.metrics)).text();
    const seconds = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]);
    return Math.max(0, seconds * 1000 - LOOP_TIMER_MS);
  }
}

function textOf(found: readonly Phase[]): string {
  const millis = (value: number): string => value.toFixed(1);
  const told = (kind: 'readers' | 'writers'): readonly string[] => {
    const results = found.flatMap((each) => each[kind] ?? []);
    if (results.length === 0) return [];
    const rates = results.map(({ calls, seconds }) => calls / seconds);
    const times = results.map(({ latencies }) => latencies.percentiles());
    const percentile = (name: 'p50' | 'p99'): string =>
      spread(
        times.map((each) => each[name]),
        millis,
      );
    const calls = kind === 'readers' ? 'reads' : 'writes';
    return [
      `${spread(rates, (value) => value.toFixed(0))} ${calls}/s, p50 ${percentile('p50')} ms, p99 ${percentile('p99')} ms`,
    ];
  };
  const loop = `loop p99 ${spread(
    found.map(({ loopP99 }) => loopP99),
    millis,
  )} ms`;
  return [...told('writers'), ...told('readers'), loop].join('; ');
}
