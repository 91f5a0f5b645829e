/**
 * Measures the cost for a node of clients that start calls and cancel them at once, and the latency of other clients
 * meanwhile.
 *
 *   npm run build && node --conditions=source bench/cancelled-calls.ts [--connections 8] [--seconds 5] [--rounds 3] \
 *     old=../old new=.
 *
 * A contender consists of a name and the checkout with its build. In each round, each contender gets a new node per
 * load: no other clients; clients that cancel calls; the same clients without acknowledging SETTINGS; and, if h2load is
 * installed, up to 1000 concurrent calls on each of 40 connections. Meanwhile one measured client makes one small call
 * after the other on its connection, and another one makes each call on a new connection.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readNumber, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { type CairnNode, FETCH_LATEST } from './peers/cairn.ts';
import { costing, inTurn, readCheckouts } from './support/checkouts.ts';
import { closedLoop } from './support/closed-loop.ts';
import { hasH2load } from './support/h2load.ts';
import { grpcHeaders, grpcMessage } from './support/http2-connection.ts';
import { Latencies } from './support/latencies.ts';
import { bytesField } from './support/protobuf.ts';
import { type FloodCounts, RunningFlood } from './support/stream-flood.ts';

const DATABASE = 'shop';
const MEBIBYTE = 2 ** 20;
/**
 * Loads: no other clients, cancelling clients that acknowledge SETTINGS, cancelling clients that do not, and 40,000
 * calls.
 */
const LOADS = ['none', 'cancelled', 'unacknowledged', 'crowd'] as const;
type LoadName = (typeof LOADS)[number];
const NO_FLOOD: FloodCounts = { streams: 0, ended: 0 };

const { values, positionals } = readCommandLine();
const connections = readNumber('connections', values.connections, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
const checkouts = readCheckouts(positionals);

interface Row {
  readonly name: string;
  readonly load: string;
  readonly known: Latencies;
  readonly fresh: Latencies;
  readonly failed: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly flood: FloodCounts;
}

const loads = LOADS.filter((load) => load !== 'crowd' || hasH2load());
await using arena = new Arena();
const headers = grpcHeaders(FETCH_LATEST);
const request = (): Buffer => grpcMessage(bytesField(1, DATABASE));

const lines = [
  '| round | build | load | same connection: calls, p50, p99, last ms | new connections: calls, p50, p99, last ms | failed | s of processor | peak MiB | streams of the others | connections ended |',
  '|---|---|---|---|---|---|---|---|---|---|',
];
const turns = { checkouts, rounds, variants: ['all'], database: DATABASE };
await inTurn(arena, turns, async ({ round, name, node }) => {
  await measure(node, { name, load: 'none' });
  for (const load of loads) lines.push(`| ${round} ${line(await measure(node, { name, load }))}`);
});
process.stdout.write(`${lines.join('\n')}\n`);

function readCommandLine() {
  try {
    const text = (value: string) => ({ type: 'string', default: value }) as const;
    return parseArgs({
      allowPositionals: true,
      options: { connections: text('8'), seconds: text('5'), rounds: text('3') },
    });
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

async function measure(
  { pid, address }: CairnNode,
  { name, load }: { readonly name: string; readonly load: LoadName },
): Promise<Row> {
  const flood = begin(load, address);
  const fresh = new Latencies();
  const { result, cpuSeconds, peakBytes } = await costing(pid, async () => {
    const calls = [closedLoop({ address, headers, clients: 1, seconds, request }), callAnew(address, fresh)] as const;
    const [known, freshFailed] = await Promise.all(calls);
    const counts = (await flood?.stop()) ?? NO_FLOOD;
    return { known: known.latencies, failed: known.failed + freshFailed, flood: counts };
  });
  return { name, load, fresh, ...result, cpuSeconds, peakBytes };
}

interface Flooding {
  stop(): Promise<FloodCounts>;
}

function begin(load: LoadName, address: CairnNode['address']): Flooding | undefined {
  if (load === 'none') return undefined;
  if (load === 'crowd') return beginCrowd(address);
  return new RunningFlood({ ...address, path: FETCH_LATEST, connections, isPolite: load === 'cancelled' });
}

/** Runs h2load, which respects the limit of streams, and counts the answered calls. */
function beginCrowd({ host, port }: CairnNode['address']): Flooding {
  const body = join(arena.dir, 'crowd-body');
  writeFileSync(body, request());
  const shape = [`--duration=${seconds}`, '--clients=40', '--max-concurrent-streams=1000', `--data=${body}`];
  const types = ['--header=content-type: application/grpc', '--header=te: trailers'];
  const running = spawn('h2load', [...shape, ...types, `http://${host}:${port}${FETCH_LATEST}`]);
  running.stdout.setEncoding('utf8');
  let said = '';
  running.stdout.on('data', (text: string) => {
    said += text;
  });
  const closed = once(running, 'close');
  return {
    stop: async () => {
      await closed;
      return { streams: Number(/(\d+) succeeded/.exec(said)?.[1]), ended: 0 };
    },
  };
}

/** Makes one call after the other, each on a new connection. Returns the number of failed calls. */
async function callAnew(address: CairnNode['address'], latencies: Latencies): Promise<number> {
  const deadline = performance.now() + seconds * 1000;
  let failed = 0;
  while (performance.now() < deadline) {
    const began = performance.now();
    failed += (await closedLoop({ address, headers, clients: 1, seconds: 0, calls: 1, request })).failed;
    latencies.add(performance.now() - began);
  }
  return failed;
}

function line(row: Row): string {
  const of = (latencies: Latencies): string => {
    const { p50, p99 } = latencies.percentiles();
    return `${latencies.count}, ${[p50, p99, latencies.largest].map((ms) => ms.toFixed(1)).join(', ')}`;
  };
  const { streams, ended } = row.flood;
  const cost = `${row.cpuSeconds.toFixed(1)} | ${(row.peakBytes / MEBIBYTE).toFixed(0)}`;
  return `| ${row.name} | ${row.load} | ${of(row.known)} | ${of(row.fresh)} | ${row.failed} | ${cost} | ${streams} | ${ended} |`;
}
