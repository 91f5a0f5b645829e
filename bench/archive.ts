/**
 * Measures the cost of archiving to a directory for writers, what is lost with a node, and the time of a restore.
 *
 *   npm run build && node --conditions=source bench/archive.ts [--rounds 5] [--seconds 20] [--clients 16]
 *     [--events 1000000]
 *
 * Two nodes run in separate processes, one with an archive. Writers of transactions with 100 events load one node after
 * the other, in a closed loop, and the next load waits until everything is archived. Then the archived node is killed
 * under the same load, and `cairn restore` shows which acknowledged transactions the archive lacks. At last the node
 * gets a database with `--events` events, and is killed when all are archived. `cairn restore` of it is timed, and must
 * print the chain hash that the node had.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import {
  appendRequests,
  type CairnNode,
  createDatabase,
  entryOf,
  startCairn,
  THIS_BUILD,
  TRANSACT,
} from './peers/cairn.ts';
import { closedLoop, type Load } from './support/closed-loop.ts';
import { grpcHeaders } from './support/http2-connection.ts';

const EVENT_BYTES = 256;
const EVENTS = 100;
const WRITTEN = 'written';
const LOST = 'lost';
const RESTORED = 'restored';
const POLL_MS = 100;
const ARCHIVED_WITHIN_MS = 600_000;

const options = readOptions({ rounds: '5', seconds: '20', clients: '16', events: '1000000' });
const rounds = readNumber('rounds', options.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', options.seconds, { min: 1, isWhole: false });
const clients = readNumber('clients', options.clients, { min: 1, isWhole: true });
const events = readNumber('events', options.events, { min: EVENTS, isWhole: true });

const dir = mkdtempSync(join(tmpdir(), 'cairn-archive-'));
const archive = join(dir, 'archive');
mkdirSync(archive);
const nodes: CairnNode[] = [];
let written = 0;
try {
  const plain = await start('plain', []);
  let archived = await startArchived();
  for (const node of [plain, archived]) await createDatabase(node, WRITTEN);
  await forWriters(plain, archived);
  await plain.stop();
  await createDatabase(archived, LOST);
  await forRecoveryPoint(archived);
  archived = await startArchived();
  await createDatabase(archived, RESTORED);
  await forRestore(archived);
  process.stdout.write(
    `\n${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; load average ${loadavg()[0]?.toFixed(1)}.\n`,
  );
} finally {
  for (const node of nodes) await node.stop();
  rmSync(dir, { recursive: true, force: true });
}

function startArchived(): Promise<CairnNode> {
  return start('archived', [`--archive=file://${archive}`]);
}

async function start(name: string, settings: readonly string[]): Promise<CairnNode> {
  const node = await startCairn(join(dir, name), THIS_BUILD, settings);
  nodes.push(node);
  return node;
}

/** Rates of both nodes, in turns that change their order. */
async function forWriters(plain: CairnNode, archived: CairnNode): Promise<void> {
  process.stdout.write('| round | events/s without | events/s with the archive | slower by |\n|---|---|---|---|\n');
  const slower: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const rates = new Map<CairnNode, number>();
    for (const node of round % 2 === 0 ? [plain, archived] : [archived, plain]) {
      rates.set(node, await append(node, { database: WRITTEN, seconds }));
      if (node === archived) await untilArchived(node, WRITTEN);
    }
    const [without = 0, withArchive = 0] = [rates.get(plain), rates.get(archived)];
    slower.push(1 - withArchive / without);
    const cells = [round + 1, without.toFixed(0), withArchive.toFixed(0), percent(slower.at(-1) ?? 0)];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
  const sorted = slower.toSorted((one, other) => one - other);
  const [least, median, most] = [0, sorted.length >> 1, sorted.length - 1].map((at) => percent(sorted[at] ?? 0));
  process.stdout.write(`\nSlower by ${median}, ${least} to ${most} (median and range of ${rounds} rounds).\n`);
}

/**
 * Kills the node under load. Revisions are acknowledged in their order, except for those of a few callers, so the first
 * one that the archive lacks was acknowledged as the acknowledgement with its number.
 */
async function forRecoveryPoint(node: CairnNode): Promise<void> {
  const calledMs: number[] = [];
  const load = append(node, { database: LOST, seconds, onCall: () => calledMs.push(performance.now()) });
  await Promise.all([delay(seconds * 900).then(() => node.kill()), load.catch(() => undefined)]);
  const killedMs = performance.now();
  const { revision } = restore(LOST);
  // A caller makes its next call when the one before was acknowledged.
  const acknowledgedMs = calledMs.slice(clients);
  const lostSeconds = (killedMs - (acknowledgedMs[revision] ?? killedMs)) / 1000;
  process.stdout.write(
    `Killed at full speed: the archive has ${revision} of ${acknowledgedMs.length} acknowledged transactions, ` +
      `and lacks those of the last ${lostSeconds.toFixed(1)} s.\n`,
  );
}

interface Appended {
  readonly database: string;
  readonly seconds: number;
  readonly calls?: number;
  readonly onCall?: () => void;
}

/** Appends for some time, or so many transactions; returns events per second. */
async function append(node: CairnNode, { database, onCall, ...limit }: Appended): Promise<number> {
  const template = appendRequests({ database, events: EVENTS, eventBytes: EVENT_BYTES, conditional: false }, written);
  written += 1_000_000_000;
  const request: Load['request'] = () => {
    onCall?.();
    return template.next();
  };
  const done = await closedLoop({ address: node.address, headers: grpcHeaders(TRANSACT), clients, request, ...limit });
  if (done.failed > 0) throw new Error(`${done.failed} of ${done.calls} transactions failed`);
  return (done.calls * EVENTS) / done.seconds;
}

/** Waits until the archive of the database has everything. */
async function untilArchived(node: CairnNode, database: string): Promise<void> {
  const deadline = performance.now() + ARCHIVED_WITHIN_MS;
  const done = new RegExp(`^cairn_archive_lag_bytes{database="${database}"} 0$`, 'm');
  while (!done.test(await (await fetch(node.metrics)).text())) {
    if (performance.now() > deadline) throw new Error(`${database} was not archived in ${ARCHIVED_WITHIN_MS} ms`);
    await delay(POLL_MS);
  }
}

async function forRestore(node: CairnNode): Promise<void> {
  const calls = Math.ceil(events / EVENTS);
  await append(node, { database: RESTORED, seconds: 0, calls });
  await untilArchived(node, RESTORED);
  const found = await fetch(`${node.http}/db/${RESTORED}/${calls}`);
  const { chain_hash: before } = (await found.json()) as { readonly chain_hash: string };
  await node.kill();
  const began = performance.now();
  const { chainHash } = restore(RESTORED);
  const tookMs = performance.now() - began;
  if (before !== chainHash) throw new Error(`chain hash ${chainHash} was restored, not ${before}`);
  process.stdout.write(`${events} events were restored in ${(tookMs / 1000).toFixed(1)} s; chain hash ${chainHash}.\n`);
}

/** Restores a database from the archive into a new directory. */
function restore(database: string): { readonly revision: number; readonly chainHash: string } {
  const to = `--data-dir=${join(dir, `new-${database}`)}`;
  const args = ['restore', `--from=${archive}`, `--database=${database}`, to, '--json'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [entryOf(THIS_BUILD.root), ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`cairn restore: ${stderr}`);
  const { databases } = JSON.parse(stdout) as {
    readonly databases: readonly { readonly revision: number; readonly chainHash: string }[];
  };
  const [restored] = databases;
  if (restored === undefined) throw new Error('no database was restored');
  return restored;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
