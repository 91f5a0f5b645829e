/**
 * Measures how long the deletion of a database takes in a cluster: with all nodes up, with a node that was just killed,
 * and with a node that was killed long ago (ADR 0042).
 *
 *   npm run build && node --conditions=source bench/deletions.ts [--rounds 30]
 *
 * Three nodes run in separate processes on loopback. Databases are created and deleted through one node after the
 * other. Then one node is killed and another one deletes a database immediately, and again after all leases have
 * expired.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { type CairnNode, createDatabase, deleteDatabase } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { Latencies } from './support/latencies.ts';

const NODES = 3;
/** Longer than any timeout for a silent node, and than the settling time after a start. */
const LONG_MS = 12_000;

const values = readOptions({ rounds: '30' });
const rounds = readNumber('rounds', values.rounds, { min: 1, isWhole: true });

const dir = mkdtempSync(join(tmpdir(), 'cairn-deletions-'));
const cluster = await CairnCluster.start(dir, NODES);
try {
  await delay(LONG_MS);
  await series('three nodes', cluster.names);
  const [first = '', second = '', third = ''] = cluster.names;
  await createDatabase(cluster.node(first), 'late');
  await cluster.node(third).kill();
  say('one node was killed just now', [await elapsed(() => deleteDatabase(cluster.node(first), 'late'))]);
  await delay(LONG_MS);
  await series('one node was killed long ago', [first, second]);
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function series(what: string, names: readonly string[]): Promise<void> {
  const created: number[] = [];
  const deleted: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const node: CairnNode = cluster.node(names[round % names.length] ?? '');
    created.push(await elapsed(() => createDatabase(node, 'temporary')));
    deleted.push(await elapsed(() => deleteDatabase(node, 'temporary')));
  }
  say(`${what}: to create again`, created);
  say(`${what}: to delete`, deleted);
}

function say(what: string, taken: readonly number[]): void {
  const latencies = new Latencies();
  for (const value of taken) latencies.add(value);
  const { p50, p99 } = latencies.percentiles();
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(
    `${what}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, of ${taken.length}; load ${load}\n`,
  );
}

async function elapsed(work: () => Promise<void>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}
