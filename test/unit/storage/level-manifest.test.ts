// Goal: a MANIFEST can be read while LevelDB appends to it, with the same result as a complete reading (W18). Method:
// logs of edits that grow byte by byte; a store that is opened again.
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLevelStore } from '#storage';
import { maskedCrc32c } from '../../../src/storage/level-bytes.ts';
import { ManifestReader } from '../../../src/storage/level-manifest.ts';
import { testDir } from '../../support/test-scope.ts';

const BLOCK_BYTES = 32 * 1024;
const HEADER_BYTES = 7;
const NAME = 'MANIFEST-000002';
const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);
const KEY_BYTES = 100;

function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

/** An edit that deletes the table `number - 2` and adds the table `number`. */
function edit(number: number): Uint8Array {
  const key = [KEY_BYTES, ...new Uint8Array(KEY_BYTES).fill(number)];
  const deleted = number < 3 ? [] : [6, 1, ...varint(number - 2)];
  return Uint8Array.from([2, ...varint(number), ...deleted, 7, 1, ...varint(number), ...varint(1000), ...key, ...key]);
}

function logOf(records: readonly Uint8Array[]): Uint8Array {
  const bytes: number[] = [];
  for (const record of records) {
    let from = 0;
    for (let isFirst = true; isFirst || from < record.length; isFirst = false) {
      const left = BLOCK_BYTES - (bytes.length % BLOCK_BYTES);
      if (left < HEADER_BYTES) bytes.push(...new Uint8Array(left));
      const room = left < HEADER_BYTES ? BLOCK_BYTES - HEADER_BYTES : left - HEADER_BYTES;
      const part = record.subarray(from, from + room);
      from += part.length;
      const isLast = from === record.length;
      const typed = Uint8Array.of(isFirst ? (isLast ? 1 : 2) : isLast ? 4 : 3, ...part);
      const sum = maskedCrc32c(typed, 0, typed.length);
      bytes.push(sum & 255, (sum >>> 8) & 255, (sum >>> 16) & 255, sum >>> 24, part.length & 255, part.length >>> 8);
      bytes.push(...typed);
    }
  }
  return Uint8Array.from(bytes);
}

function edits(count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, i) => edit(i + 1));
}

function storeWith(manifest: Uint8Array): { readonly dir: string; readonly path: string } {
  const dir = testDir();
  writeFileSync(join(dir, 'CURRENT'), `${NAME}\n`);
  const path = join(dir, NAME);
  writeFileSync(path, manifest);
  return { dir, path };
}

test('a growing MANIFEST is read further, and an incomplete record is read when it is complete (W18)', () => {
  const log = logOf(edits(400));
  expect(log.length).toBeGreaterThan(2 * BLOCK_BYTES);
  const { dir, path } = storeWith(log.subarray(0, 500));
  const reader = new ManifestReader(dir);
  const logNumbers = new Set<number>();
  // Steps of one byte around each boundary of blocks, and longer ones elsewhere.
  for (let end = 500; end < log.length; ) {
    const isNearBorder = (end + 300) % BLOCK_BYTES < 600;
    const next = Math.min(log.length, end + (isNearBorder ? 1 : 97));
    appendFileSync(path, log.subarray(end, next));
    end = next;
    const { logNumber = 0, tables = [] } = reader.readOn() ?? {};
    expect(tables.map(({ number }) => number)).toEqual([logNumber - 1, logNumber]);
    logNumbers.add(logNumber);
  }
  expect(logNumbers.size).toBeGreaterThan(300);
  const tables = [399, 400].map((number) => ({ number, bytes: 1000, level: 1 }));
  expect(reader.readOn()).toEqual({ path, tables, logNumber: 400 });
  expect(new ManifestReader(dir).readOn()).toEqual(reader.readOn());
});

test('a record that was read in part and is broken before a valid one is damage, in this block or the next', () => {
  const long = Uint8Array.from([...edit(101), 1, ...varint(BLOCK_BYTES), ...new Uint8Array(BLOCK_BYTES)]);
  const before = edits(100);
  for (const behind of [[edit(101), edit(102)], [long]]) {
    const { length } = logOf(before);
    const bent = logOf([...before, ...behind]);
    bent[length + 50] = (bent[length + 50] ?? 0) ^ 1;
    const { dir, path } = storeWith(bent.subarray(0, length + 60));
    const reader = new ManifestReader(dir);
    expect(reader.readOn()?.logNumber).toBe(100);
    appendFileSync(path, bent.subarray(length + 60));
    expect(() => reader.readOn()).toThrow(`${path} is damaged: at offset ${length}, its record`);
  }
});

test('a MANIFEST that CURRENT names instead of another one is read from its beginning', async () => {
  const dir = testDir();
  const reader = new ManifestReader(dir);
  const paths = new Set<string>();
  for (let round = 1; round <= 3; round++) {
    const store = await openLevelStore(dir);
    onTestFinished(async () => store.close());
    const batch = store.batch();
    batch.put(Uint8Array.of(round), NOTHING);
    await store.write(batch);
    await store.compact(NOTHING, END);
    const read = reader.readOn();
    expect(read).toEqual(new ManifestReader(dir).readOn());
    expect(read?.tables.length).toBeGreaterThan(0);
    paths.add(read?.path ?? '');
    await store.close();
  }
  expect(paths.size).toBe(3);
});
