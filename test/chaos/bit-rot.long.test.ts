// Goal: a node with a damaged LevelDB table, or with damaged rows, ends when it detects the damage, heals within a few
// starts, and loses nothing (W18, D26). Method: a real node; bit flips, zeroed and missing ranges in each part of its
// tables, and rows that are changed or removed.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { toGroupId } from '#base';
import { RowKeys } from '#database';
import { openLevelStore } from '#storage';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { SMALL_STORE, startOwnNode } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

const TIMEOUT_MS = 240_000;
const FOOTER_BYTES = 48;
/** Five silent ends, the removal of LevelDB, and one more. */
const STARTS_MAX = 7;

const start = (dataDir: string): Promise<NodeProcess> => startOwnNode(dataDir, SMALL_STORE);

/** Writes until there are a few tables, and ends the node. Returns the means to check the written data. */
async function fill(dataDir: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<Proof> {
  const node = await start(dataDir);
  using client = new StoreClient(node.grpc);
  const ledger: Ledger = new Map();
  const proof = new Proof(await client.createDatabase('rot'), ledger);
  await writeUntil(node, ledger, () => tablesIn(dataDir).length >= 3);
  node.kill(signal);
  await node.ended;
  return proof;
}

async function writeUntil({ grpc }: NodeProcess, ledger: Ledger, isEnough: () => boolean): Promise<void> {
  const writers = new Writers({ address: grpc, database: 'rot', fillerBytes: 500 }, ledger);
  writers.start(4);
  await vi.waitUntil(isEnough, { timeout: 60_000, interval: 5 });
  await writers.stop();
}

function tablesIn(dataDir: string): readonly string[] {
  const store = join(dataDir, 'store');
  return readdirSync(store)
    .filter((name) => name.endsWith('.ldb'))
    .toSorted()
    .map((name) => join(store, name));
}

/** Changes a row of the database as LevelDB itself would, so that every table is whole. */
async function changeRow(dataDir: string, change: (value: Uint8Array) => Uint8Array | undefined): Promise<void> {
  const store = await openLevelStore(join(dataDir, 'store'));
  const batch = store.batch();
  const key = new RowKeys(toGroupId(1)).position(5);
  const value = change(store.get(key) ?? new Uint8Array(0));
  if (value === undefined) batch.del(key);
  else batch.put(key, value);
  await store.write(batch);
  await store.close();
}

/** Damages in each part of a table, at an offset from its start or its end: a bit flip, or a zeroed range. */
const DAMAGES: readonly (readonly [what: string, (bytes: Uint8Array) => Uint8Array])[] = [
  ['the first key', (bytes) => flipped(bytes, 5)],
  ['a row', (bytes) => flipped(bytes, Math.floor(bytes.length / 2))],
  ['the first block, zeroed', (bytes) => bytes.slice().fill(0, 0, 5000)],
  ['the index', (bytes) => flipped(bytes, bytes.length - FOOTER_BYTES - 60)],
  ['the footer', (bytes) => flipped(bytes, bytes.length - 12)],
  ['the end, cut off', (bytes) => bytes.slice(0, bytes.length - 5000)],
  ['everything, cut off', () => new Uint8Array(0)],
];

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.with(at, (bytes[at] ?? 0) ^ 16);
}

/** Starts nodes until one has verified all rows. An end without a message, such as an abort of LevelDB, is repeated. */
async function healed(dataDir: string): Promise<NodeProcess> {
  const ends: string[] = [];
  while (ends.length < STARTS_MAX) {
    const node = await start(dataDir).catch((failure: unknown) => void ends.push(String(failure)));
    if (node === undefined) continue;
    const end = await Promise.race([node.ended, hasVerified(node).then(() => undefined)]);
    if (end === undefined) return node;
    ends.push(`${end}: ${node.log()}`);
  }
  throw new Error(`The node has ended ${ends.length} times:\n${ends.join('\n')}`);
}

async function hasVerified({ metrics }: NodeProcess): Promise<void> {
  const isWhole = async (): Promise<boolean> => {
    const text = await fetch(metrics).then(
      (answer) => answer.text(),
      () => '',
    );
    const verifiedAt = Number(/^cairn_store_scrub_round_timestamp_seconds (\S+)/m.exec(text)?.[1] ?? 0);
    return verifiedAt > 0 && /^cairn_databases_rebuilding 0$/m.test(text);
  };
  await vi.waitUntil(isWhole, { timeout: 60_000, interval: 200 }).catch(() => undefined);
}

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a node that has ended by %s heals when any part of a table is damaged',
  { timeout: 4 * TIMEOUT_MS },
  async (signal) => {
    const dir = testDir();
    const proof = await fill(dir, signal);
    for (const [place, [what, change]] of DAMAGES.entries()) {
      const tables = tablesIn(dir);
      const table = tables[place % tables.length] ?? '';
      writeFileSync(table, change(new Uint8Array(readFileSync(table))));
      const node = await healed(dir);
      await proof.check(node.grpc);
      expect([what, existsSync(join(dir, 'damage'))]).toEqual([what, false]);
      node.kill(signal);
      await node.ended;
    }
  },
);

it.each<readonly [what: string, change: (value: Uint8Array) => Uint8Array | undefined]>([
  ['lost', () => undefined],
  ['damaged', (value) => flipped(value, 1)],
])('a running node ends when a row is %s, and the next one rebuilds it', { timeout: TIMEOUT_MS }, async (_, change) => {
  const dir = testDir();
  const proof = await fill(dir, 'SIGTERM');
  await changeRow(dir, change);
  const [node, note] = [await start(dir), join(dir, 'damage')];
  expect(await node.ended).toBe(70);
  const says =
    /Rows of group 1 are missing or damaged: (?:rows of positions: \d+ instead of|The row with key .* is corrupt)/;
  expect(node.log()).toMatch(says);
  expect(node.log()).toContain('"isolate":"scrub"');
  expect(readFileSync(note, 'utf8')).toMatch(says);
  expect(readFileSync(note, 'utf8')).toMatch(/\ngroup 1\n$/);
  const again = await start(dir);
  expect(existsSync(note)).toBe(false);
  await vi.waitUntil(() => again.log().includes('"database-rebuilt"'), { timeout: 60_000 });
  await proof.check(again.grpc);
});
