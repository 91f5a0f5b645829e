// Goal: a node with a damaged table of LevelDB does not start, or stops with exit code 70 when it meets it (W19).
// Method: a real node; bits flipped and a stretch zeroed in each part of its tables, at rest and while it runs.
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { ManifestReader, tableName } from '../../src/storage/level-manifest.ts';
import { SMALL_STORE, startOwnNode } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

const TIMEOUT_MS = 240_000;
const FOOTER_BYTES = 48;
/** New tables are looked for every five seconds. */
const SCRUB_MS = 15_000;

const start = (dataDir: string): Promise<NodeProcess> => startOwnNode(dataDir, SMALL_STORE);

interface Filled {
  readonly proof: Proof;
  readonly ledger: Ledger;
}

/** Writes until there are a few tables, and ends the node; answers how to check what was written. */
async function fill(dataDir: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<Filled> {
  const node = await start(dataDir);
  using client = new StoreClient(node.grpc);
  const ledger: Ledger = new Map();
  const proof = new Proof(await client.createDatabase('rot'), ledger);
  await writeUntil(node, ledger, () => liveTables(dataDir).length >= 3);
  node.kill(signal);
  await node.ended;
  return { proof, ledger };
}

async function writeUntil({ grpc }: NodeProcess, ledger: Ledger, isEnough: () => boolean): Promise<void> {
  const writers = new Writers({ address: grpc, database: 'rot', fillerBytes: 500 }, ledger);
  writers.start(4);
  await vi.waitUntil(isEnough, { timeout: 60_000, interval: 5 });
  await writers.stop();
}

/** What LevelDB knows of; a node that was killed may leave more. */
function liveTables(dataDir: string): readonly number[] {
  const { tables = [] } = new ManifestReader(join(dataDir, 'store')).readOn() ?? {};
  return tables.map(({ number }) => number);
}

/** The table that was made last, and is finished. */
function newestLive(dataDir: string): number {
  return Math.max(0, ...liveTables(dataDir));
}

/** Flips a bit in the middle, in place: LevelDB may have the file mapped. */
function flipInPlace(path: string): void {
  const bytes = new Uint8Array(readFileSync(path));
  const at = Math.floor(bytes.length / 2);
  const file = openSync(path, 'r+');
  writeSync(file, flipped(bytes, at), at, 1, at);
  closeSync(file);
}

async function endsSoon(node: NodeProcess): Promise<boolean> {
  const hasEnded = async (): Promise<boolean> =>
    (await Promise.race([node.ended, Promise.resolve(undefined)])) !== undefined;
  return vi.waitUntil(hasEnded, { timeout: SCRUB_MS }).catch(() => false);
}

/** A bit of each part of a table, as far from its begin, or its end, as is said; and a stretch that is zeroed. */
const DAMAGES: readonly (readonly [what: string, (bytes: Uint8Array) => Uint8Array])[] = [
  ['the first key', (bytes) => flipped(bytes, 5)],
  ['a row', (bytes) => flipped(bytes, Math.floor(bytes.length / 2))],
  ['the first block, zeroed', (bytes) => bytes.slice().fill(0, 0, 5000)],
  ['the index', (bytes) => flipped(bytes, bytes.length - FOOTER_BYTES - 60)],
  ['the footer', (bytes) => flipped(bytes, bytes.length - 12)],
];

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.with(at, (bytes[at] ?? 0) ^ 16);
}

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a node that has ended by %s does not start with a damaged table',
  {
    timeout: TIMEOUT_MS,
  },
  async (signal) => {
    const dir = testDir();
    const { proof } = await fill(dir, signal);
    const started: string[] = [];
    for (const [place, number] of liveTables(dir).entries()) {
      const table = join(dir, 'store', tableName(number));
      const bytes = new Uint8Array(readFileSync(table));
      for (const [what, change] of DAMAGES.slice(place, place === 0 ? DAMAGES.length : place + 1)) {
        writeFileSync(table, change(bytes));
        const says = await start(dir).then(() => 'ready', String);
        const name = basename(table);
        const isTold = says.includes('ended with 1 ') && says.includes(`${name} is damaged at offset`);
        if (!isTold || !says.includes('"cannot-start"')) started.push(`${what} of ${name}: ${says}`);
      }
      writeFileSync(table, bytes);
    }
    expect(started).toEqual([]);
    expect(existsSync(join(dir, 'damage'))).toBe(false);
    const whole = await start(dir);
    await proof.check(whole.grpc);
  },
);

it('a running node ends when a table is damaged, and starts again from a whole one', {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = testDir();
  const { proof, ledger } = await fill(dir, 'SIGTERM');
  const note = join(dir, 'damage');
  const node = await start(dir);
  const backups: string[] = [];
  // Now and then the scrub has looked at a table before it is damaged here.
  do {
    const before = newestLive(dir);
    await writeUntil(node, ledger, () => newestLive(dir) > before);
    const table = join(dir, 'store', tableName(newestLive(dir)));
    backups.push(table);
    copyFileSync(table, `${table}.backup`);
    flipInPlace(table);
  } while (!(await endsSoon(node)));
  expect(await node.ended).toBe(70);
  const says = /\.ldb is damaged at offset \d+: found a block of \d+ bytes with checksum 0x\w{8}, expected 0x\w{8}/;
  expect(node.log()).toMatch(says);
  expect(node.log()).toContain('"isolate":"scrub"');
  expect(readFileSync(note, 'utf8')).toMatch(says);
  await expect(start(dir)).rejects.toThrow(says);

  for (const table of backups) copyFileSync(`${table}.backup`, table);
  const whole = await start(dir);
  expect(existsSync(note)).toBe(false);
  await proof.check(whole.grpc);
});
