/**
 * Measures how long no write succeeds when the leader of databases is killed, and when it shuts down normally.
 *
 *   npm run build && node --conditions=source bench/failover.ts [--kills 100] [--drains 20]
 *     [--databases 1] [--writers 4] [--every-ms 5]
 *
 * Three nodes run in separate processes on loopback. Each database has `--writers` writers, which try one node after
 * the other until a transaction is acknowledged, and send the next one after `--every-ms`. For many databases, use one
 * writer each and a longer interval. In each round, the node with the most leaderships is ended with SIGKILL or
 * SIGTERM. For each database that it led, the program measures the time to the first acknowledgement of a later
 * transaction, and the longest time between two acknowledgements, which includes `--every-ms`. Then the node is started
 * again, and the next round begins when all three nodes are up to date. After SIGINT or SIGTERM, which may also reach
 * the nodes, the program prints the figures of the finished rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { Latencies } from './support/latencies.ts';
import { longestGap, RetryingWriter, untilNext } from './support/retrying-writer.ts';

const NODES = 3;
const LOOK_MS = 5;
/** No write for this long means that something is broken, and no figure would be valid. */
const GIVE_UP_MS = 60_000;
/** Minimum time of writes before and after the end of the node, to show its surroundings. */
const AROUND_LEAST_MS = 1_000;
const AROUND_WRITES = 4;

type End = 'kill' | 'stop';

interface Series {
  rounds: number;
  readonly before: Latencies;
  readonly toNext: Latencies;
  readonly gaps: Latencies;
  readonly ends: Latencies;
  retried: number;
  failed: number;
  acknowledged: number;
}

const values = readOptions({ kills: '100', drains: '20', databases: '1', writers: '4', 'every-ms': '5' });
const kills = readNumber('kills', values.kills, { min: 0, isWhole: true });
const drains = readNumber('drains', values.drains, { min: 0, isWhole: true });
const databaseCount = readNumber('databases', values.databases, { min: 1, isWhole: true });
const writerCount = readNumber('writers', values.writers, { min: 1, isWhole: true });
const everyMs = readNumber('every-ms', values['every-ms'], { min: 0, isWhole: true });
const aroundMs = Math.max(AROUND_LEAST_MS, AROUND_WRITES * everyMs);
const databases = Array.from({ length: databaseCount }, (_, at) => `failover-${at + 1}`);

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());

const dir = mkdtempSync(join(tmpdir(), 'cairn-failover-'));
const cluster = await CairnCluster.start(dir, NODES);
try {
  await cluster.createDatabases(databases);
  await series('kill -9 of the leader', 'kill', kills);
  await series('SIGTERM of the leader', 'stop', drains);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function series(what: string, end: End, rounds: number): Promise<void> {
  const seen: Series = {
    rounds: 0,
    before: new Latencies(),
    toNext: new Latencies(),
    gaps: new Latencies(),
    ends: new Latencies(),
    retried: 0,
    failed: 0,
    acknowledged: 0,
  };
  for (let time = 0; time < rounds && !stopping.signal.aborted; time++) {
    try {
      await round(end, seen);
    } catch (failure) {
      if (!stopping.signal.aborted) throw failure;
    }
  }
  if (seen.rounds > 0) process.stdout.write(`${report(what, seen)}\n`);
}

async function round(end: End, seen: Series): Promise<void> {
  const { name, led } = busiest(await cluster.leadersOf(databases));
  const leader = cluster.node(name);
  const addresses = cluster.names.map((each) => cluster.node(each).address);
  const begin = (database: string, first: number): RetryingWriter =>
    new RetryingWriter(database, () => addresses, { first, everyMs });
  const writers = new Map(
    databases.map((database, at) => [
      database,
      Array.from({ length: writerCount }, (_, number) => begin(database, at + number)),
    ]),
  );
  await delay(aroundMs);
  const beganMs = performance.now();
  const ending = endedAt(end === 'kill' ? leader.kill() : leader.stop());
  const waiting = led.map((database) => writers.get(database) ?? []);
  while (waiting.some((each) => untilNext(each, beganMs) === undefined)) {
    await delay(LOOK_MS);
    if (stopping.signal.aborted || performance.now() > beganMs + GIVE_UP_MS)
      throw new Error(`there is a database of which no write was acknowledged until ${GIVE_UP_MS} ms were over`);
  }
  const endedMs = await ending;
  await delay(aroundMs);
  const overMs = performance.now();
  const all = [...writers.values()].flat();
  await Promise.all(all.map((writer) => writer.stop()));
  seen.rounds += 1;
  seen.ends.add(endedMs - beganMs);
  for (const each of waiting) {
    seen.toNext.add(untilNext(each, beganMs) ?? Number.NaN);
    seen.gaps.add(longestGap(each, beganMs - aroundMs, overMs));
  }
  for (const { acknowledged, failed } of all) {
    seen.acknowledged += acknowledged.length;
    seen.retried += acknowledged.filter(({ attempts }) => attempts > 1).length;
    seen.failed += failed;
    for (const { sentMs, acknowledgedMs } of acknowledged) {
      if (acknowledgedMs < beganMs) seen.before.add(acknowledgedMs - sentMs);
    }
  }
  await cluster.startNode(name);
}

async function endedAt(ending: Promise<void>): Promise<number> {
  await ending;
  return performance.now();
}

/** The node with the most leaderships, and the databases that it leads. */
function busiest(leaders: ReadonlyMap<string, string>): { readonly name: string; readonly led: readonly string[] } {
  const ledBy = (name: string): readonly string[] => databases.filter((database) => leaders.get(database) === name);
  const all = cluster.names.map((name) => ({ name, led: ledBy(name) }));
  const [most] = all.toSorted((one, other) => other.led.length - one.led.length);
  if (most === undefined) throw new Error('A cluster has nodes');
  return most;
}

function report(what: string, seen: Series): string {
  const row = (name: string, latencies: Latencies): string => {
    const { p50, p99, max } = latencies.percentiles();
    return `| ${[name, p50, p99, max].map((cell) => (typeof cell === 'number' ? cell.toFixed(0) : cell)).join(' | ')} |`;
  };
  return [
    `### ${what}, ${seen.rounds} times`,
    '',
    `${databaseCount} databases with ${writerCount} writers each, a transaction every ${everyMs} ms; ${seen.gaps.count} leads ended; ` +
      `${seen.acknowledged} transactions acknowledged, ${seen.retried} of them after more than one attempt, ` +
      `${seen.failed} failed; load average ${loadavg()[0]?.toFixed(1)}.`,
    '',
    '| milliseconds | p50 | p99 | longest |',
    '| --- | --- | --- | --- |',
    row('of a transaction, before any of it', seen.before),
    row('of a database, to the first acknowledgement of what was sent afterwards', seen.toNext),
    row('of a database, longest time between two acknowledgements', seen.gaps),
    row('to the end of the process', seen.ends),
    '',
  ].join('\n');
}
