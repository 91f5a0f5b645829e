// Goal: a node does not answer from a table of LevelDB that is not as it was written: it does not start, or stops with
// exit code 70 as soon as it has come across the damage, and does not start again after that (W19). Method: a real node
// with tables; one bit flipped in each part of one of them.
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const TIMEOUT_MS = 240_000;
const FOOTER_BYTES = 48;
const SETTINGS = ['--wal-segment-bytes=4MiB', '--ballast-bytes=0', '--store-write-buffer-bytes=1MiB'];

async function start(dataDir: string): Promise<NodeProcess> {
  return startNode({ dataDir, settings: SETTINGS, onSpawn: endWithTest });
}

/** Writes until there are a few tables, and stops; answers how to check what was written. */
async function fill(dataDir: string): Promise<Proof> {
  const node = await start(dataDir);
  using client = new StoreClient(node.grpc);
  const ledger: Ledger = new Map();
  const proof = new Proof(await client.createDatabase('rot'), ledger);
  const writers = new Writers({ address: node.grpc, database: 'rot', fillerBytes: 500 }, ledger);
  writers.start(4);
  await vi.waitUntil(() => tablesOf(dataDir).length >= 3, { timeout: 60_000 });
  await writers.stop();
  node.kill('SIGTERM');
  expect(await node.ended).toBe(0);
  return proof;
}

function tablesOf(dataDir: string): readonly string[] {
  const store = join(dataDir, 'store');
  return readdirSync(store).flatMap((name) => (name.endsWith('.ldb') ? [join(store, name)] : []));
}

function flip(path: string, at: (length: number) => number): void {
  const bytes = readFileSync(path);
  const place = at(bytes.length);
  writeFileSync(path, bytes.fill((bytes[place] ?? 0) ^ 16, place, place + 1));
}

/** What a node says that ends by itself with 70: before it is ready, if the scrub is the quicker one. */
async function logOfEnd(dataDir: string): Promise<string> {
  const started = await start(dataDir).catch(String);
  if (typeof started === 'string') return started;
  return `the node ended with ${await started.ended}: ${started.log()}`;
}

it('a node with a damaged table stops or does not start, and starts again from a whole one', {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = testDir();
  const proof = await fill(dir);
  const note = join(dir, 'damage');
  const table = tablesOf(dir)[0] ?? '';
  copyFileSync(table, `${table}.backup`);

  // What leads to the rows: footer and index (level-table.test.ts has every other bit).
  for (const at of [12, FOOTER_BYTES + 60]) {
    flip(table, (length) => length - at);
    await expect(start(dir)).rejects.toThrow(/ended with 1 .*\.ldb is damaged at offset \d+: found.*"cannot-start"/s);
    copyFileSync(`${table}.backup`, table);
  }
  expect(existsSync(note)).toBe(false);

  // A row: found soon after the start, and before the next one.
  flip(table, (length) => Math.floor(length / 2));
  const log = await logOfEnd(dir);
  const says = /\.ldb is damaged at offset \d+: found a block of \d+ bytes with checksum 0x\w{8}, expected 0x\w{8}/;
  expect(log).toContain('the node ended with 70');
  expect(log).toMatch(says);
  expect(log).toContain('"isolate":"scrub"');
  expect(readFileSync(note, 'utf8')).toMatch(says);
  await expect(start(dir)).rejects.toThrow(says);

  copyFileSync(`${table}.backup`, table);
  const whole = await start(dir);
  expect(existsSync(note)).toBe(false);
  await proof.check(whole.grpc);
});
