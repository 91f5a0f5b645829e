// Goal: a node with a damaged LevelDB table does not start, or exits with code 70 when it detects the damage (W19).
// Method: a real node; bit flips and zeroed ranges in each part of its tables, while it is stopped and while it runs.
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
/** The scrub looks for new tables every five seconds. */
const SCRUB_MS = 15_000;

const start = (dataDir: string): Promise<NodeProcess> => startOwnNode(dataDir, SMALL_STORE);

interface Filled {
  readonly proof: Proof;
  readonly ledger: Ledger;
}

/** Writes until there are a few tables, and ends the node. Returns the means to check the written data. */
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

/** Tables in the MANIFEST; a killed node may leave more files. */
function liveTables(dataDir: string): readonly number[] {
  const { tables = [] } = new ManifestReader(join(dataDir, 'store')).readOn() ?? {};
  return tables.map(({ number }) => number);
}

/** The last finished table. */
function newestLive(dataDir: string): number {
  return Math.max(0, ...liveTables(dataDir));
}

/** Flips a bit in the middle of the file, in place, because LevelDB may have mapped it. */
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

/** Damages in each part of a table, at an offset from its start or its end: a bit flip, or a zeroed range. */
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
  // Sometimes the scrub has verified a table before it is damaged here.
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
  // The scrub finds the damage, unless a read of the core comes first.
  const found = new RegExp(`${says.source}|could not be read: Corruption`);
  expect(node.log()).toMatch(found);
  expect(readFileSync(note, 'utf8')).toMatch(found);
  await expect(start(dir)).rejects.toThrow(says);

  for (const table of backups) copyFileSync(`${table}.backup`, table);
  const whole = await start(dir);
  expect(existsSync(note)).toBe(false);
  await proof.check(whole.grpc);
});
