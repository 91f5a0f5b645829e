// Goal: any flipped bit of a table is found, with its position, and a table of LevelDB is valid (W19). Method: every
// bit and cut of a small table, one bit of each class in a large one.
import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLevelStore } from '#storage';
import { LevelTable } from '../../../src/storage/level-table.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);

async function writtenTable(dir: string, rows: number): Promise<{ readonly path: string; readonly bytes: Uint8Array }> {
  const store = await openLevelStore(dir, { maxFileBytes: 2 ** 24 });
  const batch = store.batch();
  for (let i = 0; i < rows; i++) {
    batch.put(Buffer.from(`key-${String(i).padStart(6, '0')}`), Buffer.alloc(60, i % 251));
  }
  await store.write(batch);
  await store.compact(NOTHING, END);
  await store.close();
  const [name, ...others] = readdirSync(dir).filter((file) => file.endsWith('.ldb'));
  expect(others).toEqual([]);
  const path = join(dir, name ?? '');
  return { path, bytes: new Uint8Array(readFileSync(path)) };
}

function verify(path: string, bytes: number): void {
  const table = LevelTable.open(path, bytes);
  try {
    table.verify(table.rowBlocks);
  } finally {
    table.close();
  }
}

function found(path: string, bytes: number, read: typeof verify = verify): string | undefined {
  try {
    read(path, bytes);
    return undefined;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}

function withBit(bytes: Uint8Array, bit: number): Uint8Array {
  return bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)));
}

test('every flipped bit of a table is found, and so is a wrong length (W19)', async () => {
  using dir = tempDir();
  const { path, bytes } = await writtenTable(dir.path, 2);
  expect(found(path, bytes.length)).toBeUndefined();
  const missed: number[] = [];
  const file = openSync(path, 'r+');
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const at = bit >> 3;
    writeSync(file, withBit(bytes, bit), at, 1, at);
    if (!found(path, bytes.length)?.includes('is damaged at offset')) missed.push(bit);
    writeSync(file, bytes, at, 1, at);
  }
  for (let length = bytes.length - 1; length >= 0; length--) {
    ftruncateSync(file, length);
    if (!found(path, bytes.length)?.includes(`is damaged at offset ${length}: found its end`)) missed.push(length);
    if (found(path, length) === undefined) missed.push(length);
  }
  closeSync(file);
  expect(missed).toEqual([]);
  expect(found(path, bytes.length)).toContain('move the data directory away and start the node with --join');
});

test.each<[string, boolean, (rowBlock: number, rowsEnd: number, end: number) => number]>([
  // Opening checks the index and not the rows, so it finds nothing here.
  ['a row', false, () => 100],
  ['the restarts of rows', false, (rowBlock) => rowBlock - 5],
  ['the type of a block', false, (rowBlock) => rowBlock],
  ['the checksum of a block', false, (rowBlock) => rowBlock + 2],
  ['the filter', true, (_, rowsEnd) => rowsEnd + 10],
  ['the index', true, (_, __, end) => end - 48 - 100],
  ['a handle of the footer', true, (_, __, end) => end - 47],
  ['the zeros of the footer', true, (_, __, end) => end - 12],
  ['the magic number', true, (_, __, end) => end - 1],
])('a flipped bit of %s is found, when the table is opened: %s (W19)', async (_part, byOpening, at) => {
  using dir = tempDir();
  const { path, bytes } = await writtenTable(dir.path, 2000);
  const table = LevelTable.open(path, bytes.length);
  const [first, last] = [table.rowBlocks[0], table.rowBlocks.at(-1)];
  table.close();
  if (first === undefined || last === undefined || first === last) throw new Error('There are blocks');
  const place = at(first.length, last.offset + last.length + 5, bytes.length);
  writeFileSync(path, withBit(bytes, 8 * place + 3));
  const atOpening = found(path, bytes.length, (...where) => LevelTable.open(...where).close());
  expect(atOpening !== undefined).toBe(byOpening);
  const damage = /at offset 0: found a block of \d+ bytes with checksum 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}/;
  expect(found(path, bytes.length)).toMatch(byOpening ? /is damaged at offset \d+: found / : damage);
});
