/**
 * Measures the cost of reads over HTTP in each rendering, complete and as 304, compared with a fastify server that
 * sends the same bytes.
 *
 *   npm run build && node --conditions=source bench/http-reads.ts [--events 20] [--clients 16] [--seconds 3] [--rounds 3]
 *
 * h2load reads a page of `--events` events over HTTP/1.1 with persistent connections. The measured value is the CPU
 * time of the server's main thread, which does all of the work; the client uses other processors. fastify sends a
 * constant text, or serializes objects.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readNumber, refuse } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { startCairn, THIS_BUILD } from './peers/cairn.ts';
import { hasH2load } from './peers/installed.ts';
import { Latencies } from './support/latencies.ts';
import { threadSeconds } from './support/process-cpu.ts';
import { freePort, stopProcess, untilListening } from './support/server-process.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20' },
    clients: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
  },
});
const eventCount = readNumber('events', values.events, { min: 1, isWhole: true });
const clients = readNumber('clients', values.clients, { min: 1, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: true });
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });
if (!hasH2load()) refuse('h2load is not installed (Debian: nghttp2-client)');

interface Contender {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly headers: readonly string[];
  readonly status: string;
}

interface Sum {
  readonly latencies: Latencies;
  cpuSeconds: number;
}

await using arena = new Arena();
await using stopping = new AsyncDisposableStack();
const node = await startCairn(join(arena.dir, 'node'), THIS_BUILD, []);
stopping.defer(() => node.stop());
await record(node.http);
const page = `/db/shop/1/events?limit=${eventCount}`;
const body = await (await fetch(`${node.http}${page}`)).text();
const contenders: Contender[] = [await bareFastify('text', body), await bareFastify('objects', body)];
for (const [rendering, accept] of [
  ['JSON', 'application/json'],
  ['TOON', 'text/plain'],
  ['HTML', 'text/html'],
] as const) {
  const url = `${node.http}${page}`;
  const tag = (await fetch(url, { headers: { accept } })).headers.get('etag') ?? '';
  const headers = [`accept: ${accept}`];
  contenders.push({ name: `${rendering}, whole`, pid: node.pid, url, headers, status: '200' });
  const known = [...headers, `if-none-match: ${tag}`];
  contenders.push({ name: `${rendering}, 304`, pid: node.pid, url, headers: known, status: '304' });
}
const sums = new Map<string, Sum>(contenders.map(({ name }) => [name, { latencies: new Latencies(), cpuSeconds: 0 }]));
for (let round = 0; round <= rounds; round++) {
  for (const contender of contenders) load(contender, round === 0 ? undefined : sums.get(contender.name));
}
const rows = [...sums].map(([name, { latencies, cpuSeconds }]) => {
  const { p50, p99 } = latencies.percentiles();
  const rates = [latencies.count / (rounds * seconds), latencies.count / cpuSeconds].map((rate) => Math.round(rate));
  return `| ${name} | ${rates.join(' | ')} | ${p50.toFixed(2)}, ${p99.toFixed(2)} |`;
});
const head = ['| answer | requests/s | requests/s and core of the server | p50, p99 ms |', '|---|---|---|---|'];
process.stdout.write(`${[...head, ...rows].join('\n')}\n`);

/** Writes one transaction of similar events. */
async function record(http: string): Promise<void> {
  await fetch(`${http}/api/v1/databases/shop`, { method: 'POST' });
  const events = Array.from({ length: eventCount }, (_, n) => ({
    id: `order-${n}`,
    source: 'orders',
    specversion: '1.0',
    type: 'order.placed',
    subject: `customer-${n}`,
    time: '2026-01-15T09:00:00Z',
    data: { amount: n, currency: 'EUR' },
  }));
  const headers = { 'content-type': 'application/json' };
  const sent = await fetch(`${http}/api/v1/db/shop`, { method: 'POST', headers, body: JSON.stringify({ events }) });
  if (sent.status !== 200) throw new Error(`the events could not be recorded: ${await sent.text()}`);
}

/** A fastify server that sends a constant text, or serializes objects. */
async function bareFastify(what: 'text' | 'objects', text: string): Promise<Contender> {
  const port = await freePort();
  const code = `import { fastify } from 'fastify';
    const body = ${what === 'text' ? JSON.stringify(text) : text};
    const server = fastify();
    server.get('/page', (_request, reply) => reply.type('application/json; charset=utf-8').send(body));
    await server.listen({ host: '127.0.0.1', port: ${port} });`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: import.meta.dirname,
  });
  stopping.defer(() => stopProcess(child));
  await untilListening(port, child);
  return {
    name: `fastify, ${what}`,
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}/page`,
    headers: [],
    status: '200',
  };
}

function load({ pid, url: asked, headers, status, name }: Contender, sum: Sum | undefined): void {
  const before = threadSeconds(pid).get('front') ?? 0;
  const logFile = join(arena.dir, 'log');
  const shape = ['--h1', `--clients=${clients}`, `--duration=${seconds}`, `--log-file=${logFile}`];
  const done = spawnSync('h2load', [...shape, ...headers.map((header) => `--header=${header}`), asked]);
  if (done.status !== 0) throw new Error(`h2load failed with ${done.status}`);
  // Columns: start time, HTTP status, microseconds.
  const answers = readFileSync(logFile, 'utf8').trimEnd().split('\n');
  rmSync(logFile);
  for (const line of answers.map((each) => each.split('\t'))) {
    if (line[1] !== status) throw new Error(`${name} answered ${line[1]}`);
    sum?.latencies.add(Number(line[2]) / 1000);
  }
  if (sum !== undefined) sum.cpuSeconds += (threadSeconds(pid).get('front') ?? 0) - before;
}
