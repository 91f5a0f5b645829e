/**
 * Measures the cost of databases that are not used: their creation, and then their heartbeats and memory.
 *
 *   npm run build && node --conditions=source bench/idle-groups.ts [--databases 10000] [--seconds 60]
 *     [--marks 100,1000,5000] [--root /another/checkout]
 *
 * Three nodes run in separate processes on loopback, each with a replica of every database. The cost of a creation is
 * the CPU time of all nodes minus their idle CPU time in the same period, measured over the 200 creations before each
 * mark and over all of them. After the last creation and a rest, the program measures the CPU time of each node over
 * `--seconds` seconds, and the bytes that it sends to the others. `--root` selects the build of another checkout.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { CREATE_DATABASE, THIS_BUILD } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders } from './support/http2-connection.ts';
import { cpuSeconds, residentMemory, threadSeconds } from './support/process-cpu.ts';
import { bytesField } from './support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from './support/request-template.ts';

const NODES = 3;
const CREATORS = 32;
/** Number of measured creations at a mark, and the time for their follow-up work. */
const MARKED = 200;
const SETTLE_MS = 3000;
const REST_MS = 20_000;
const MEBIBYTE = 2 ** 20;
const MICROSECONDS = 1e6;

const values = readOptions({ databases: '10000', seconds: '60', marks: '', root: '' });
const databases = readNumber('databases', values.databases, { min: 0, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });
const { root = '' } = values;
const marks = (values.marks ?? '')
  .split(',')
  .filter(Boolean)
  .map((mark) => readNumber('marks', mark, { min: MARKED / 2, isWhole: true }));

const dir = mkdtempSync(join(tmpdir(), 'cairn-idle-groups-'));
const build = root === '' ? THIS_BUILD : { ...THIS_BUILD, root };
const cluster = await CairnCluster.start(dir, NODES, [], build);
let created = 0;
try {
  process.stdout.write(`### ${databases} databases that nobody uses, on each of ${NODES} nodes\n\n`);
  await createAll();
  await delay(REST_MS);
  process.stdout.write(`${await atRest()}\n`);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function createAll(): Promise<void> {
  if (databases === 0) return;
  process.stdout.write(
    '| databases | a creation, µs of all nodes | of it by thread | a second | p99 ms | failed | load |\n',
  );
  process.stdout.write('| --- | --- | --- | --- | --- | --- | --- |\n');
  for (const mark of marks) {
    const from = Math.max(created, mark - MARKED / 2);
    if (from > created) await create(from - created);
    await delay(SETTLE_MS);
    await measured(`${mark}`, MARKED);
  }
  if (databases > created) await measured(`${created} to ${databases}`, databases - created);
  process.stdout.write('\n');
}

/** Creates `count` databases and prints the cost of each. */
async function measured(what: string, count: number): Promise<void> {
  const idleBefore = usedByThread();
  await delay(SETTLE_MS);
  const before = usedByThread();
  const idlePerSecond = new Map(
    [...before].map(([name, used]) => [name, (used - (idleBefore.get(name) ?? 0)) / (SETTLE_MS / 1000)]),
  );
  const began = performance.now();
  const made = await create(count);
  await delay(SETTLE_MS);
  const elapsed = (performance.now() - began) / 1000;
  const costs = [...usedByThread()]
    .map(([name, used]): [string, number] => {
      const idle = (idlePerSecond.get(name) ?? 0) * elapsed;
      return [name, ((used - (before.get(name) ?? 0) - idle) / count) * MICROSECONDS];
    })
    .toSorted(([, one], [, other]) => other - one);
  const total = costs.reduce((sum, [, cost]) => sum + cost, 0);
  const threads = costs.slice(0, 4).map(([name, cost]) => `${name} ${cost.toFixed(0)}`);
  const perSecond = (made.calls / made.seconds).toFixed(0);
  const p99 = made.latencies.percentiles().p99.toFixed(0);
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(
    `| ${[what, total.toFixed(0), threads.join(', '), perSecond, p99, made.failed, load].join(' | ')} |\n`,
  );
}

async function create(count: number): ReturnType<typeof closedLoop> {
  const [first = ''] = cluster.names;
  const template = new RequestTemplate(bytesField(1, `idle-${COUNTER_MARKER}`), {
    firstCounter: created,
    markersPerNumber: 1,
  });
  created += count;
  return closedLoop({
    address: cluster.node(first).address,
    headers: grpcHeaders(CREATE_DATABASE),
    clients: CREATORS,
    seconds: 0,
    calls: count,
    request: () => template.next(),
  });
}

/** CPU seconds of all nodes together, by thread. */
function usedByThread(): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const pid of cluster.pids) {
    for (const [name, time] of threadSeconds(pid)) used.set(name, (used.get(name) ?? 0) + time);
  }
  return used;
}

async function atRest(): Promise<string> {
  const { pids } = cluster;
  const before = pids.map((pid) => ({ cpu: cpuSeconds([pid]), threads: threadSeconds(pid) }));
  const saidBefore = await said();
  await delay(seconds * 1000);
  const saidAfter = await said();
  const rows = pids.map((pid, at) => {
    const used = cpuSeconds([pid]) - (before[at]?.cpu ?? 0);
    const threads = [...threadSeconds(pid)]
      .map(([name, total]): [string, number] => [name, total - (before[at]?.threads.get(name) ?? 0)])
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, 3)
      .map(([name, time]) => `${name} ${percent(time)}`);
    const perPair = ((saidAfter[at] ?? 0) - (saidBefore[at] ?? 0)) / seconds / (NODES - 1);
    const { total, anonymous } = residentMemory(pid);
    const memory = [total, anonymous].map((bytes) => `${(bytes / MEBIBYTE).toFixed(0)} MiB`);
    return `| ${[cluster.names[at], percent(used), threads.join(', '), perPair.toFixed(0), ...memory].join(' | ')} |`;
  });
  return [
    `At rest, ${seconds} s; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| node | of a processor | of it by thread | bytes a second to each other | resident | of it anonymous |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

/** Bytes that each node has sent to the other nodes so far. */
async function said(): Promise<readonly number[]> {
  return Promise.all(
    cluster.names.map(async (name) => {
      const text = await (await fetch(cluster.node(name).metrics)).text();
      const counts = [...text.matchAll(/^cairn_peer_sent_bytes_total\{.*\} (\d+)$/gm)];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    }),
  );
}

function percent(used: number): string {
  return `${((used / seconds) * 100).toFixed(1)} %`;
}
