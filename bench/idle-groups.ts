/**
 * What databases cost that nobody uses: their beats, and memory.
 *
 *   npm run build && node --conditions=source bench/idle-groups.ts [--databases 10000] [--seconds 30]
 *
 * Three nodes in processes of their own on loopback, each with a copy of every database. When all are made and the
 * nodes have come to rest, the processor time of each node is taken for so many seconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { CREATE_DATABASE } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders } from './support/http2-connection.ts';
import { cpuSeconds, residentMemory, threadSeconds } from './support/process-cpu.ts';
import { bytesField } from './support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from './support/request-template.ts';

const NODES = 3;
const CREATORS = 32;
const REST_MS = 20_000;
const MEBIBYTE = 2 ** 20;

const values = readOptions({ databases: '10000', seconds: '30' });
const databases = readNumber('databases', values.databases, { min: 0, isWhole: true });
const seconds = readNumber('seconds', values.seconds, { min: 1, isWhole: false });

const dir = mkdtempSync(join(tmpdir(), 'cairn-idle-groups-'));
const cluster = await CairnCluster.start(dir, NODES);
try {
  process.stdout.write(`### ${databases} databases that nobody uses, on each of ${NODES} nodes\n\n`);
  if (databases > 0) await create();
  await delay(REST_MS);
  process.stdout.write(`${await atRest()}\n`);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function create(): Promise<void> {
  const [first = ''] = cluster.names;
  const template = new RequestTemplate(bytesField(1, `idle-${COUNTER_MARKER}`), {
    firstCounter: 0,
    markersPerNumber: 1,
  });
  const made = await closedLoop({
    address: cluster.node(first).address,
    headers: grpcHeaders(CREATE_DATABASE),
    clients: CREATORS,
    seconds: 0,
    calls: databases,
    request: () => template.next(),
  });
  const perSecond = (made.calls / made.seconds).toFixed(0);
  process.stdout.write(
    `${made.calls} created by ${CREATORS} clients, ${made.failed} failed, ${perSecond} a second, p99 ${made.latencies.percentiles().p99.toFixed(0)} ms.\n\n`,
  );
}

async function atRest(): Promise<string> {
  const { pids } = cluster;
  const before = pids.map((pid) => ({ cpu: cpuSeconds([pid]), threads: threadSeconds(pid) }));
  await delay(seconds * 1000);
  const rows = pids.map((pid, at) => {
    const used = cpuSeconds([pid]) - (before[at]?.cpu ?? 0);
    const threads = [...threadSeconds(pid)]
      .map(([name, total]): [string, number] => [name, total - (before[at]?.threads.get(name) ?? 0)])
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, 3)
      .map(([name, time]) => `${name} ${percent(time)}`);
    const { total, anonymous } = residentMemory(pid);
    const memory = [total, anonymous].map((bytes) => `${(bytes / MEBIBYTE).toFixed(0)} MiB`);
    return `| ${[cluster.names[at], percent(used), threads.join(', '), ...memory].join(' | ')} |`;
  });
  return [
    `At rest, ${seconds} s; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| node | of a processor | of it by thread | resident | of it anonymous |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function percent(used: number): string {
  return `${((used / seconds) * 100).toFixed(1)} %`;
}
