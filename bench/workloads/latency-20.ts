/**
 * Measures latency at a fifth of the maximum load: the transactions of append-64 in an open loop, at 20 % of the rate
 * that the contender reached right before in a closed loop of 64 callers. Latencies count from the time when a call was
 * due.
 */
import type { Arena } from '../arena.ts';
import { appendRequests, createDatabase, TRANSACT } from '../peers/cairn.ts';
import { ETCD_TXN, etcdConditionalPuts } from '../peers/etcd.ts';
import { appendScript, measuredPgbench, postgresBin } from '../peers/postgres.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measured, measuredRun } from '../support/measured.ts';
import { openLoop } from '../support/open-loop.ts';
import type { RequestTemplate } from '../support/request-template.ts';
import type { Contender, Sample, Workload } from '../support/sample.ts';

const NAME = 'latency-20';
const SHARE = 0.2;
const CLIENTS = 64;
const EVENT_BYTES = 256;
const DURABLE = 'fdatasync before the answer';
/** Minimum duration of the closed loop; a shorter one would measure a contender that is still starting. */
const SATURATED_SECONDS_MIN = 1;

interface Rated extends Contender {
  /** The maximum rate of the contender, and the delay of the sending of its calls. */
  told(): string;
}

export async function latencyWorkload(arena: Arena): Promise<Workload> {
  const contenders = [await cairn(arena), ...(await etcd(arena)), ...(await postgres(arena))];
  return {
    name: NAME,
    what: 'Conditional transactions of one event in an open loop, each contender at a fifth of its own saturated rate.',
    unit: 'events',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders,
    notes: () => contenders.map((each) => `${each.peer}: ${each.told()}`),
  };
}

async function cairn(arena: Arena): Promise<Rated> {
  const node = await arena.cairn();
  await createDatabase(node, NAME);
  const shape = { database: NAME, events: 1, eventBytes: EVENT_BYTES, conditional: true };
  return { peer: 'cairn', durability: DURABLE, ...atShare(node, TRANSACT, appendRequests(shape, arena.numbers())) };
}

async function etcd(arena: Arena): Promise<readonly Rated[]> {
  const server = await arena.etcd();
  if (server === undefined) return [];
  const puts = etcdConditionalPuts(1, EVENT_BYTES, arena.numbers());
  return [{ peer: 'etcd', durability: DURABLE, ...atShare(server, ETCD_TXN, puts) }];
}

function atShare(
  server: { readonly address: { readonly host: string; readonly port: number }; readonly pid: number },
  path: string,
  template: RequestTemplate,
): Pick<Rated, 'run' | 'warmUp' | 'told'> {
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
  const told = (): string => `${rate.text()}; calls left ${late.percentiles().p99.toFixed(2)} ms late (p99)`;
  return { run, warmUp: (seconds) => rate.measure(seconds), told };
}

async function postgres(arena: Arena): Promise<readonly Rated[]> {
  const [server, bin] = [await arena.postgres(), postgresBin()];
  if (server === undefined || bin === undefined) return [];
  const load = { scripts: [{ text: appendScript(1, EVENT_BYTES) }], clients: CLIENTS, eventsPerCall: 1 };
  const rate = new SaturatedRate(async (seconds) => measuredPgbench(bin, server, { ...load, seconds }));
  const run = async (seconds: number): Promise<Sample> =>
    measuredPgbench(bin, server, { ...load, seconds, rate: rate.value * SHARE });
  const warmUp = (seconds: number): Promise<Sample> => rate.measure(seconds);
  const durability = 'fsync on, synchronous_commit on';
  return [{ peer: 'postgresql, pgbench', durability, run, warmUp, told: () => rate.text() }];
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
