/**
 * Measures the latency of clients with large transactions beside clients that send incomplete requests.
 *
 *   npm run build && node --conditions=source bench/half-requests.ts [--connections 700] [--half 240000] \
 *     [--requests 1] [--bytes 400000] [--clients 8] [--seconds 6] [--rounds 2] old=../old new=.
 *
 * A contender consists of a name and the checkout with its build. In each round, each contender gets a new node per
 * load: no other clients; clients with `--requests` incomplete requests on each connection; and connections that do not
 * acknowledge SETTINGS. Each measured client has its own connection and sends one transaction of one event of `--bytes`
 * bytes after the other. After a refusal it waits 100 ms and sends another one; refusals are not part of the latencies.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readNumber, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { type CairnNode, TRANSACT } from './peers/cairn.ts';
import { costing, inTurn, readCheckouts } from './support/checkouts.ts';
import { type HalfRequestCounts, RunningHalfRequests } from './support/half-request-flood.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './support/http2-connection.ts';
import { Latencies } from './support/latencies.ts';
import { bytesField, message } from './support/protobuf.ts';

const DATABASE = 'shop';
const MEBIBYTE = 2 ** 20;
const PAUSE_MS = 100;
const LOADS = ['none', 'half requests', 'unacknowledged'] as const;
type LoadName = (typeof LOADS)[number];

const { values, positionals } = readCommandLine();
const count = (name: string, text: string | undefined): number => readNumber(name, text, { min: 1, isWhole: true });
const connections = count('connections', values.connections);
const halfBytes = count('half', values.half);
const requests = count('requests', values.requests);
const eventBytes = count('bytes', values.bytes);
const clients = count('clients', values.clients);
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });
const rounds = count('rounds', values.rounds);
const checkouts = readCheckouts(positionals);

interface Honest {
  readonly latencies: Latencies;
  failed: number;
}

await using arena = new Arena();
const headers = grpcHeaders(TRANSACT);
const data = JSON.stringify('x'.repeat(eventBytes));
let made = 0;

const lines = [
  '| round | build | others | transactions | failed | p50, p99, longest ms | s of processor | peak MiB | begun by the others | given up |',
  '|---|---|---|---|---|---|---|---|---|---|',
];
const turns = { checkouts, rounds, variants: LOADS, database: DATABASE };
await inTurn(arena, turns, async ({ round, variant, name, node }) => {
  lines.push(`| ${round} | ${name} | ${variant} | ${await measure(node, variant)} |`);
});
process.stdout.write(`${lines.join('\n')}\n`);

function readCommandLine() {
  try {
    const text = (value: string) => ({ type: 'string', default: value }) as const;
    return parseArgs({
      allowPositionals: true,
      options: {
        connections: text('700'),
        half: text('240000'),
        requests: text('1'),
        bytes: text('400000'),
        clients: text('8'),
        seconds: text('6'),
        rounds: text('2'),
      },
    });
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

function transaction(): Buffer {
  const n = String(made++).padStart(12, '0');
  const event = message(
    bytesField(1, `id-${n}`),
    bytesField(2, '1.0'),
    bytesField(3, 'com.example.order.placed'),
    bytesField(4, 'https://example.com/streams/orders'),
    bytesField(7, data),
  );
  const inner = message(bytesField(1, event), bytesField(3, `00000000-0000-4000-8000-${n}`));
  return grpcMessage(message(bytesField(1, DATABASE), bytesField(2, inner)));
}

async function measure({ pid, address }: CairnNode, load: LoadName): Promise<string> {
  const parts = { ...address, path: TRANSACT, connections, requests, bytes: halfBytes };
  const flood = load === 'none' ? undefined : new RunningHalfRequests({ ...parts, isPolite: load === 'half requests' });
  const honest: Honest = { latencies: new Latencies(), failed: 0 };
  const deadline = performance.now() + seconds * 1_000;
  const { cpuSeconds, peakBytes } = await costing(pid, () =>
    Promise.all(Array.from({ length: clients }, () => transactUntil(deadline, address, honest))),
  );
  const counts: HalfRequestCounts = (await flood?.stop()) ?? { begun: 0, ended: 0 };
  const { p50, p99 } = honest.latencies.percentiles();
  const times = [p50, p99, honest.latencies.largest].map((ms) => ms.toFixed(0)).join(', ');
  const cost = `${cpuSeconds.toFixed(1)} | ${(peakBytes / MEBIBYTE).toFixed(0)}`;
  return `${honest.latencies.count} | ${honest.failed} | ${times} | ${cost} | ${counts.begun} | ${counts.ended}`;
}

async function transactUntil(deadline: number, address: CairnNode['address'], honest: Honest): Promise<void> {
  let connection = await Http2Connection.open(address);
  while (performance.now() < deadline) {
    if (!connection.isOpen) connection = await Http2Connection.open(address);
    const began = performance.now();
    if (await isCommitted(connection)) {
      honest.latencies.add(performance.now() - began);
      continue;
    }
    honest.failed += 1;
    await delay(PAUSE_MS);
  }
  connection.close();
}

function isCommitted(connection: Http2Connection): Promise<boolean> {
  return new Promise((done) => connection.call(headers, transaction(), { onEnd: ({ ok }) => done(ok) }));
}
