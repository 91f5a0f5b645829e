/**
 * Measures the cost of scraping metrics for the thread that serves clients, by the number of databases.
 *
 *   npm run build && node --conditions=source bench/scrape.ts [--databases 0,1000,10000] [--scrapes 20]
 *
 * Each number of databases has a new node. A node caches its rendered metrics for a second, so scrapes are slightly
 * further apart; the CPU time of an equally long time without scrapes is subtracted.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readNumber, readNumbers } from '../scripts/support/command-line.ts';
import { Arena } from './arena.ts';
import { type CairnNode, CREATE_DATABASE } from './peers/cairn.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders, grpcMessage } from './support/http2-connection.ts';
import { threadSeconds } from './support/process-cpu.ts';
import { bytesField } from './support/protobuf.ts';

const APART_MS = 1_100;
const CREATED_AT_A_TIME = 16;
/** Time until all work for the created databases is done. */
const SETTLE_MS = 5_000;

const { values } = parseArgs({
  options: { databases: { type: 'string', default: '0,1000,10000' }, scrapes: { type: 'string', default: '20' } },
});
const scrapes = readNumber('scrapes', values.scrapes, { min: 1, isWhole: true });
const counts = readNumbers('databases', values.databases, 0);

await using arena = new Arena();
const lines = [
  '| databases | lines | KiB | ms of the thread a scrape | ms until it is there: median, longest |',
  '|---|---|---|---|---|',
];
for (const count of counts) {
  const node = await arena.cairn(`scraped-${count}`);
  await createDatabases(node, count);
  await delay(SETTLE_MS);
  lines.push(`| ${count} | ${await measure(node)} |`);
  await node.stop();
}
process.stdout.write(`${lines.join('\n')}\n`);

async function createDatabases({ address }: CairnNode, count: number): Promise<void> {
  if (count === 0) return;
  let made = 0;
  const request = (): Buffer => grpcMessage(bytesField(1, `db-${String(made++).padStart(6, '0')}`));
  const headers = grpcHeaders(CREATE_DATABASE);
  const clients = Math.min(CREATED_AT_A_TIME, count);
  const { failed } = await closedLoop({ address, headers, clients, seconds: 0, calls: count, request });
  if (failed > 0) throw new Error(`${failed} of ${count} databases could not be created`);
}

async function measure({ pid, metrics }: CairnNode): Promise<string> {
  const front = (): number => threadSeconds(pid).get('front') ?? 0;
  await scrape(metrics);
  const before = front();
  await delay(scrapes * APART_MS);
  const idle = front() - before;
  const tookMs: number[] = [];
  let body = '';
  for (let n = 0; n < scrapes; n++) {
    await delay(APART_MS);
    const began = performance.now();
    body = await scrape(metrics);
    tookMs.push(performance.now() - began);
  }
  const each = (1000 * (front() - before - 2 * idle)) / scrapes;
  const sorted = tookMs.toSorted((a, b) => a - b);
  const [median = 0, longest = 0] = [sorted[Math.floor(scrapes / 2)], sorted.at(-1)];
  const size = `${body.split('\n').length} | ${(body.length / 1024).toFixed(0)}`;
  return `${size} | ${each.toFixed(1)} | ${median.toFixed(1)}, ${longest.toFixed(1)}`;
}

async function scrape(url: string): Promise<string> {
  return (await fetch(url)).text();
}
