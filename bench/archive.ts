/**
 * Measures the cost of archiving to a directory for writers, and the time of a restore from it.
 *
 *   npm run build && node --conditions=source bench/archive.ts [--rounds 5] [--seconds 20] [--clients 16]
 *     [--events 1000000]
 *
 * Two nodes run in separate processes, one with an archive. Writers of transactions with 100 events load one node after
 * the other, in a closed loop. Then the archived node gets a database with `--events` events, is stopped, and the rest
 * is archived by `cairn backup`. `cairn restore` of it is timed, and both commands must print the same chain hash.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders } from './support/http2-connection.ts';

const EVENT_BYTES = 256;
const EVENTS = 100;
const WRITTEN = 'written';
const RESTORED = 'restored';
const CHAIN_HASH = /chain hash ([0-9a-f]{64})/;

const options = readOptions({ rounds: '5', seconds: '20', clients: '16', events: '1000000' });
const rounds = readNumber('rounds', options.rounds, { min: 1, isWhole: true });
const seconds = readNumber('seconds', options.seconds, { min: 1, isWhole: false });
const clients = readNumber('clients', options.clients, { min: 1, isWhole: true });
const events = readNumber('events', options.events, { min: EVENTS, isWhole: true });

const dir = mkdtempSync(join(tmpdir(), 'cairn-archive-'));
const archive = join(dir, 'archive');
const nodes: CairnNode[] = [];
let written = 0;
try {
  const plain = await start('plain', []);
  const archived = await start('archived', [`--archive=file://${archive}`]);
  for (const node of [plain, archived]) await createDatabase(node, WRITTEN);
  await forWriters(plain, archived);
  await plain.stop();
  await createDatabase(archived, RESTORED);
  await append(archived, { database: RESTORED, calls: Math.ceil(events / EVENTS) });
  await archived.stop();
  forRestore(archived.directory);
  process.stdout.write(
    `\n${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; load average ${loadavg()[0]?.toFixed(1)}.\n`,
  );
} finally {
  for (const node of nodes) await node.stop();
  rmSync(dir, { recursive: true, force: true });
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
      rates.set(node, await append(node, { database: WRITTEN }));
    }
    const [without = 0, withArchive = 0] = [rates.get(plain), rates.get(archived)];
    slower.push(1 - withArchive / without);
    const cells = [round + 1, without.toFixed(0), withArchive.toFixed(0), percent(slower.at(-1) ?? 0)];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
  const sorted = slower.toSorted((one, other) => one - other);
  process.stdout.write(`\nSlower by ${percent(sorted[sorted.length >> 1] ?? 0)} (median of ${rounds} rounds).\n`);
}

/** Appends for some time, or so many transactions; returns events per second. */
async function append(node: CairnNode, { database, calls }: { database: string; calls?: number }): Promise<number> {
  const template = appendRequests({ database, events: EVENTS, eventBytes: EVENT_BYTES, conditional: false }, written);
  written += 1_000_000_000;
  const limit = calls === undefined ? { seconds } : { seconds: 0, calls };
  const request = (): Buffer => template.next();
  const done = await closedLoop({ address: node.address, headers: grpcHeaders(TRANSACT), clients, request, ...limit });
  if (done.failed > 0) throw new Error(`${done.failed} of ${done.calls} transactions failed`);
  return (done.calls * EVENTS) / done.seconds;
}

function forRestore(directory: string): void {
  const line = lineOf(run(['backup', '--data-dir', directory, '--to', archive]));
  const began = performance.now();
  const restored = run(['restore', '--from', archive, '--database', RESTORED, '--data-dir', join(dir, 'new')]);
  const tookMs = performance.now() - began;
  const [before, after] = [line, lineOf(restored)].map((text) => CHAIN_HASH.exec(text)?.[1]);
  if (before === undefined || before !== after) throw new Error(`chain hash ${after} was restored, not ${before}`);
  process.stdout.write(`${events} events were restored in ${(tookMs / 1000).toFixed(1)} s; chain hash ${after}.\n`);
}

function lineOf(output: string): string {
  return output.split('\n').find((line) => line.startsWith(RESTORED)) ?? '';
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [entryOf(THIS_BUILD.root), ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`cairn ${args[0]}: ${stderr}`);
  return stdout;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
