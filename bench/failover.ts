/**
 * How long nobody can write when the node that leads a database is killed, and when it is stopped as it should be.
 *
 *   npm run build && node --conditions=source bench/failover.ts [--kills 100] [--drains 20] [--writers 4]
 *
 * Three nodes in processes of their own on loopback. Writers go from node to node until a transaction is acknowledged.
 * The leader is killed with SIGKILL, or stopped with SIGTERM; the time is taken to the first acknowledgement of what
 * was sent afterwards, and the longest time between two acknowledgements. Then the node is started again, and the next
 * round begins when all three hold everything. SIGINT and SIGTERM, which the nodes may get as well, end it with the
 * figures of the rounds before.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { Latencies } from './support/latencies.ts';
import { longestGap, RetryingWriter, untilNext } from './support/retrying-writer.ts';

const DATABASE = 'failover';
const NODES = 3;
const LOOK_MS = 5;
/** Nobody can write for so long: something is broken, and no figure would say so. */
const GIVE_UP_MS = 60_000;
/** Writes go on for so long before and after the node ends, so that what is around it is seen, too. */
const AROUND_MS = 1_000;

type End = 'kill' | 'stop';

interface Series {
  readonly toNext: Latencies;
  readonly gaps: Latencies;
  readonly ends: Latencies;
  retried: number;
  failed: number;
  acknowledged: number;
}

const values = readOptions({ kills: '100', drains: '20', writers: '4' });
const kills = readNumber('kills', values.kills, { min: 0, isWhole: true });
const drains = readNumber('drains', values.drains, { min: 0, isWhole: true });
const writerCount = readNumber('writers', values.writers, { min: 1, isWhole: true });

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());

const dir = mkdtempSync(join(tmpdir(), 'cairn-failover-'));
const cluster = await CairnCluster.start(dir, NODES);
try {
  await cluster.createDatabase(DATABASE);
  await series('kill -9 of the leader', 'kill', kills);
  await series('SIGTERM of the leader', 'stop', drains);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function series(what: string, end: End, rounds: number): Promise<void> {
  const seen: Series = {
    toNext: new Latencies(),
    gaps: new Latencies(),
    ends: new Latencies(),
    retried: 0,
    failed: 0,
    acknowledged: 0,
  };
  for (let round = 0; round < rounds && !stopping.signal.aborted; round++) {
    try {
      await one(end, seen);
    } catch (failure) {
      if (!stopping.signal.aborted) throw failure;
    }
  }
  const { count } = seen.gaps;
  if (count > 0) process.stdout.write(`${report(what, count, seen)}\n`);
}

async function one(end: End, seen: Series): Promise<void> {
  const name = await cluster.leaderOf(DATABASE);
  const leader = cluster.node(name);
  const addresses = cluster.names.map((each) => cluster.node(each).address);
  const writers = Array.from({ length: writerCount }, (_, at) => new RetryingWriter(DATABASE, () => addresses, at));
  await delay(AROUND_MS);
  const beganMs = performance.now();
  const ending = end === 'kill' ? leader.kill() : leader.stop();
  let toNext: number | undefined;
  while (toNext === undefined) {
    await delay(LOOK_MS);
    if (stopping.signal.aborted || performance.now() > beganMs + GIVE_UP_MS)
      throw new Error(`no write was acknowledged until ${GIVE_UP_MS} ms were over`);
    toNext = untilNext(writers, beganMs);
  }
  await ending;
  seen.ends.add(performance.now() - beganMs);
  await delay(AROUND_MS);
  const overMs = performance.now();
  await Promise.all(writers.map((writer) => writer.stop()));
  seen.toNext.add(toNext);
  seen.gaps.add(longestGap(writers, beganMs - AROUND_MS, overMs));
  for (const { acknowledged, failed } of writers) {
    seen.acknowledged += acknowledged.length;
    seen.retried += acknowledged.filter(({ attempts }) => attempts > 1).length;
    seen.failed += failed;
  }
  await cluster.startNode(name);
}

function report(what: string, rounds: number, seen: Series): string {
  const row = (name: string, latencies: Latencies): string => {
    const { p50, p99, p999 } = latencies.percentiles();
    return `| ${[name, p50, p99, p999].map((cell) => (typeof cell === 'number' ? cell.toFixed(0) : cell)).join(' | ')} |`;
  };
  return [
    `### ${what}, ${rounds} times`,
    '',
    `${writerCount} writers; ${seen.acknowledged} transactions acknowledged, ${seen.retried} of them after more than one attempt, ` +
      `${seen.failed} failed; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| milliseconds | p50 | p99 | longest |',
    '| --- | --- | --- | --- |',
    row('to the first acknowledgement of what was sent afterwards', seen.toNext),
    row('longest time between two acknowledgements', seen.gaps),
    row('to the end of the process and that acknowledgement', seen.ends),
    '',
  ].join('\n');
}
