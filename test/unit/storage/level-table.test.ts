// Goal: whatever bit of a table flips, it is found, and the message says where; a table as LevelDB wrote it passes
// (W19). Method: tables written by LevelDB itself; every bit of a small one, one bit of each class in a large one,
// every cut.
import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLevelStore } from '#storage';
import { LevelTable } from '../../../src/storage/level-table.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);

/** A table with so many rows: where it is, and its bytes. */
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

/** Reads all of the table, as the scrub does. */
function verify(path: string, bytes: number): void {
  const table = LevelTable.open(path, bytes);
  try {
    table.verify(table.rowBlocks);
  } finally {
    table.close();
  }
}

/** What is wrong with the table. */
function found(path: string, bytes: number): string | undefined {
  try {
    verify(path, bytes);
    return undefined;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}

function withBit(bytes: Uint8Array, bit: number): Uint8Array {
  return bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)));
}

test('every bit of a table is guarded, and so is its length (W19)', async () => {
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
});

describe('a bit of each part of a table', () => {
  /** How far before the end of the table; what is found when the table is opened, and what only in its rows. */
  test.each([
    { part: 'a row', at: () => 100, finds: /block of \d+ bytes with checksum 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}/ },
    { part: 'the restarts', at: (first: number) => first - 5, finds: /a block of \d+ bytes with checksum/ },
    { part: 'the type', at: (first: number) => first, finds: /a block of \d+ bytes with checksum/ },
    { part: 'the checksum', at: (first: number) => first + 2, finds: /a block of \d+ bytes with checksum/ },
  ])('of rows: $part', async ({ at, finds }) => {
    using dir = tempDir();
    const { path, bytes } = await writtenTable(dir.path, 5000);
    const table = LevelTable.open(path, bytes.length);
    const { length } = table.rowBlocks[0] ?? { length: 0 };
    expect(table.rowBlocks.length).toBeGreaterThan(50);
    table.close();
    writeFileSync(path, withBit(bytes, 8 * at(length) + 3));
    // What leads to the rows is whole, so opening it is no help.
    LevelTable.open(path, bytes.length).close();
    expect(() => verify(path, bytes.length)).toThrow(finds);
    expect(() => verify(path, bytes.length)).toThrow('at offset 0:');
  });

  test.each([
    { part: 'the filter', at: (rowsEnd: number) => rowsEnd + 10 },
    { part: 'the index', at: (_: number, end: number) => end - 48 - 100 },
    { part: 'a handle of the footer', at: (_: number, end: number) => end - 47 },
    { part: 'the zeros of the footer', at: (_: number, end: number) => end - 12 },
    { part: 'the magic number', at: (_: number, end: number) => end - 1 },
  ])('that leads to them: $part, which opening finds', async ({ at }) => {
    using dir = tempDir();
    const { path, bytes } = await writtenTable(dir.path, 5000);
    const table = LevelTable.open(path, bytes.length);
    const last = table.rowBlocks.at(-1);
    table.close();
    const rowsEnd = (last?.offset ?? 0) + (last?.length ?? 0) + 5;
    writeFileSync(path, withBit(bytes, 8 * at(rowsEnd, bytes.length)));
    expect(() => LevelTable.open(path, bytes.length)).toThrow(/is damaged at offset \d+: found /);
  });
});
