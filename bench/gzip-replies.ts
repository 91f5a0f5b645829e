/**
 * Measures the cost of compressed replies for clients that accept gzip (ADR 0085), by alternating between nodes with
 * and without compression.
 *
 *   npm run build && node --conditions=source bench/gzip-replies.ts [--bytes 4000,64000,900000] [--clients 1] \
 *     [--seconds 2] [--rounds 5]
 *
 * The load is FetchTransaction of one transaction of about `--bytes` bytes, by grpc-js, which accepts gzip by default.
 * The events are JSON orders, or incompressible bytes. The last rows are a client that does not accept gzip.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readNumber, readNumbers } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { type CairnNode, createDatabase, FETCH_TRANSACTION, startCairn, THIS_BUILD, TRANSACT } from './peers/cairn.ts';
import { closedLoop, type LoadResult } from './support/closed-loop.ts';
import { grpcJsLoop } from './support/grpc-js-loop.ts';
import { grpcHeaders, grpcMessage } from './support/http2-connection.ts';
import { Latencies } from './support/latencies.ts';
import { cpuSeconds, threadSeconds } from './support/process-cpu.ts';
import { bytesField, message } from './support/protobuf.ts';

const DATABASE = 'shop';
const EVENT_BYTES = 900;
const EVENTS_MAX = 1000;
const CONTENTS = ['json', 'noise'] as const;
type Content = (typeof CONTENTS)[number];
const SETTINGS = { off: '--grpc-gzip-bytes=off', gzip: '--grpc-gzip-bytes=4000' } as const;

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '4000,64000,900000' },
    clients: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
  },
});
const sizes = readNumbers('bytes', values.bytes, 1000);
const clients = readNumber('clients', values.clients, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 0.1, isWhole: false });
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });

await using arena = new Arena();
const nodes = new Map<string, CairnNode>();
await using stopping = new AsyncDisposableStack();
for (const [name, setting] of Object.entries(SETTINGS)) {
  const node = await startCairn(join(arena.dir, name), THIS_BUILD, [setting]);
  stopping.defer(() => node.stop());
  await createDatabase(node, DATABASE);
  nodes.set(name, node);
}

const lines = [
  '| client | content | bytes | replies | calls | p50, p99 ms | ms of the server a call, of its main thread |',
  '|---|---|---|---|---|---|---|',
];
for (const [at, bytes] of sizes.entries()) {
  for (const content of CONTENTS) {
    const id = `00000000-0000-4000-8000-${String(at * CONTENTS.length + CONTENTS.indexOf(content) + 1).padStart(12, '0')}`;
    for (const node of nodes.values()) await record(node, id, { bytes, content });
    lines.push(...(await compare('grpc-js', { id, bytes, content })));
    if (content === 'json') lines.push(...(await compare('accepts nothing', { id, bytes, content })));
  }
}
process.stdout.write(`${lines.join('\n')}\n`);

interface Recorded {
  readonly id: string;
  readonly bytes: number;
  readonly content: Content;
}

async function record({ address }: CairnNode, id: string, { bytes, content }: Omit<Recorded, 'id'>): Promise<void> {
  const count = Math.min(EVENTS_MAX, Math.max(1, Math.round(bytes / EVENT_BYTES)));
  const events = Array.from({ length: count }, (_, n) => {
    const data = content === 'json' ? order(n, bytes / count) : randomBytes(Math.floor(bytes / count) - 100);
    return bytesField(
      1,
      message(
        bytesField(1, `id-${n}`),
        bytesField(2, '1.0'),
        bytesField(3, 'com.example.order.placed'),
        bytesField(4, '/orders'),
        bytesField(7, data),
      ),
    );
  });
  const request = grpcMessage(message(bytesField(1, DATABASE), bytesField(2, message(...events, bytesField(3, id)))));
  const headers = grpcHeaders(TRANSACT);
  const made = await closedLoop({ address, headers, clients: 1, seconds: 0, calls: 1, request: () => request });
  if (made.failed > 0) throw new Error(`a transaction of ${bytes} bytes of ${content} could not be recorded`);
}

/** An order of about this many bytes, in which numbers and names differ from event to event. */
function order(n: number, bytes: number): string {
  const items: object[] = [];
  while (JSON.stringify(items).length < bytes - 250) {
    const at = n * 31 + items.length;
    const sku = Math.trunc(Math.abs(Math.sin(at)) * 1e9).toString(36);
    items.push({ sku, quantity: (at % 7) + 1, price: { currency: 'EUR', amount: (at * 37) % 10_007 } });
  }
  return JSON.stringify({ order: n, customer: `customer-${(n * 7919) % 10_007}`, items });
}

type ClientName = 'grpc-js' | 'accepts nothing';

async function compare(client: ClientName, { id, bytes, content }: Recorded): Promise<readonly string[]> {
  const sums = new Map([...nodes.keys()].map((name) => [name, { latencies: new Latencies(), all: 0, front: 0 }]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, node] of nodes) {
      const before = { all: cpuSeconds([node.pid]), front: threadSeconds(node.pid).get('front') ?? 0 };
      const result = await load(client, node, id);
      if (result.failed > 0) throw new Error(`${result.failed} calls have failed`);
      const sum = sums.get(name);
      // The first round warms up both.
      if (sum === undefined || round === 0) continue;
      sum.latencies.addAll(result.latencies);
      sum.all += cpuSeconds([node.pid]) - before.all;
      sum.front += (threadSeconds(node.pid).get('front') ?? 0) - before.front;
    }
  }
  return [...sums].map(([name, { latencies, all, front }]) => {
    const { p50, p99 } = latencies.percentiles();
    const each = (total: number): string => ((1000 * total) / latencies.count).toFixed(2);
    const times = `${p50.toFixed(2)}, ${p99.toFixed(2)} | ${each(all)}, ${each(front)}`;
    return `| ${client} | ${content} | ${bytes} | ${name} | ${latencies.count} | ${times} |`;
  });
}

function load(client: ClientName, { address }: CairnNode, id: string): Promise<LoadResult> {
  const body = grpcMessage(message(bytesField(1, DATABASE), bytesField(2, id)));
  const shape = { address, headers: grpcHeaders(FETCH_TRANSACTION), clients, seconds, request: () => body };
  return client === 'grpc-js' ? grpcJsLoop({ ...shape, path: FETCH_TRANSACTION }) : closedLoop(shape);
}
