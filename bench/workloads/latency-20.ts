/**
 * Measures latency at a fifth of the maximum load: the transactions of append-64 in an open loop, at 20 % of the rate
 * that the contender reached right before in a closed loop of 64 callers. Latencies count from the time when a call was
 * due.
 */
import type { Arena } from '../arena.ts';
import { appendScript, measuredPgbench, type Postgres } from '../peers/postgres.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measured, measuredRun } from '../support/measured.ts';
import { openLoop } from '../support/open-loop.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';
import { conditionalContenders } from './append.ts';

const NAME = 'latency-20';
const SHARE = 0.2;
const CLIENTS = 64;
const EVENT_BYTES = 256;
/** Minimum duration of the closed loop; a shorter one would measure a contender that is still starting. */
const SATURATED_SECONDS_MIN = 1;

export function latencyWorkload(arena: Arena): Workload {
  const shape = { name: NAME, events: 1, eventBytes: EVENT_BYTES };
  return {
    name: NAME,
    what: 'Conditional transactions of one event in an open loop, each contender at a fifth of its own saturated rate.',
    unit: 'events',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders: conditionalContenders(arena, shape, { turns: atShare, postgres: postgresAtShare }),
  };
}

function atShare(
  server: { readonly address: { readonly host: string; readonly port: number }; readonly pid: number },
  path: string,
  template: RequestTemplate,
): Turns {
  const { address } = server;
  const load = { address, headers: grpcHeaders(path), clients: CLIENTS, request: () => template.next() };
  const counted = { pids: [server.pid], eventsPerCall: 1 };
  const late = new Latencies();
  const rate = new SaturatedRate((seconds) => measured(counted, { ...load, seconds }));
  const run = async (seconds: number): Promise<Sample> => {
    const perSecond = rate.value * SHARE;
    return measuredRun(counted, async () => {
      const result = await openLoop({ ...load, seconds, rate: perSecond });
      late.addAll(result.late);
      return result;
    });
  };
  const note = (): string => `${rate.text()}; calls left ${late.percentiles().p99.toFixed(2)} ms late (p99)`;
  return { run, warmUp: (seconds) => rate.measure(seconds), note };
}

function postgresAtShare(server: Postgres): Turns {
  const load = { scripts: [{ text: appendScript(1, EVENT_BYTES) }], clients: CLIENTS, eventsPerCall: 1 };
  const rate = new SaturatedRate((seconds) => measuredPgbench(server, { ...load, seconds }));
  return {
    run: (seconds) => measuredPgbench(server, { ...load, seconds, rate: rate.value * SHARE }),
    warmUp: (seconds) => rate.measure(seconds),
    note: () => rate.text(),
  };
}

class SaturatedRate {
  readonly #closed: (seconds: number) => Promise<Sample>;
  #value = 0;

  constructor(closed: (seconds: number) => Promise<Sample>) {
    this.#closed = closed;
  }

  get value(): number {
    return this.#value;
  }

  /** Warms up for `seconds`, and measures the rate for as long again. */
  async measure(seconds: number): Promise<Sample> {
    const lasting = Math.max(SATURATED_SECONDS_MIN, seconds);
    await this.#closed(lasting);
    const sample = await this.#closed(lasting);
    this.#value = sample.operations / sample.seconds;
    return sample;
  }

  text(): string {
    return `${this.#value.toFixed(0)} a second saturated, of which ${(this.#value * SHARE).toFixed(0)} were sent`;
  }
}
