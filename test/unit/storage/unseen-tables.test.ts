// Goal: damage in a table is found even when LevelDB merged the table before it was verified (W20). Method: a flipped
// bit of a value; then compactions, scrubs, copies, and ends of processes.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holdTables, type LevelStore, noteStopped, openLevelStore, releaseOthers, verifyStore } from '#storage';
import { TableScrub } from '../../../src/storage/table-scrub.ts';
import { heldTables } from '../../../src/storage/unseen-tables.ts';
import { testDir } from '../../support/test-scope.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);
const FILLING = 7;

/** Writes rows over the whole range of keys, and merges all tables. */
async function merge(store: LevelStore, rows: number): Promise<void> {
  const batch = store.batch();
  for (let i = 0; i < rows; i++) batch.put(Buffer.from(`key-${i}`), new Uint8Array(400).fill(FILLING));
  await store.write(batch);
  await store.compact(NOTHING, END);
}

/** A store with one table of which a start verifies only the structure. */
async function storeWithTable(): Promise<{ readonly dir: string; readonly table: string; readonly number: number }> {
  const dir = testDir();
  const store = await openLevelStore(dir);
  await merge(store, 3000);
  await store.close();
  const [table = '', ...others] = readdirSync(dir).filter((name) => name.endsWith('.ldb'));
  expect(others).toEqual([]);
  return { dir, table, number: Number.parseInt(table, 10) };
}

function flipValue(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(Buffer.alloc(100, FILLING), 5000) + 50;
  writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ 1, at, at + 1));
}

function looks(scrub: TableScrub): readonly string[] {
  const all = new Set<string>();
  scrub.refresh();
  for (let step = scrub.step(); step !== undefined; step = scrub.step()) all.add(step.look);
  return [...all];
}

test('damage in a table that was merged is found by the scrub, and by every later start (W20)', async () => {
  const { dir, table, number } = await storeWithTable();
  flipValue(join(dir, table));
  expect(await verifyStore(dir, 0)).toMatchObject({ seen: [], unseen: [number] });
  expect(holdTables(dir, [number])).toEqual([]);
  const store = await openLevelStore(dir);
  await merge(store, 10);
  expect(existsSync(join(dir, table))).toBe(false);
  const says = new RegExp(
    `unseen/${table} is damaged at offset \\d+: found a block.*has merged this table into others`,
  );
  expect(() => looks(new TableScrub(dir))).toThrow(says);
  noteStopped(dir);
  await store.close();
  await expect(verifyStore(dir, 0)).rejects.toThrow(says);
  await expect(verifyStore(dir, 0)).rejects.toThrow(says);
});

test('tables that the previous process had not verified are verified at the start, unless it stopped cleanly', async () => {
  const { dir, number } = await storeWithTable();
  holdTables(dir, [number]);
  expect(await verifyStore(dir, 0)).toMatchObject({ seen: [number], unseen: [] });
  noteStopped(dir);
  expect(await verifyStore(dir, 0)).toMatchObject({ seen: [], unseen: [number] });
  // The next call is made as by another process.
  holdTables(dir, [number]);
  expect(heldTables(dir)).toEqual({ numbers: [number], isStopped: false });
  releaseOthers(dir, []);
  expect(existsSync(join(dir, 'unseen'))).toBe(false);
  noteStopped(dir);
  expect(existsSync(join(dir, 'unseen'))).toBe(false);
});

test('a table that is held as a copy of its bytes, or cannot be held, does not count as held', async () => {
  const { dir, table, number } = await storeWithTable();
  holdTables(dir, [number]);
  const copy = testDir();
  cpSync(dir, copy, { recursive: true });
  flipValue(join(copy, table));
  expect(holdTables(copy, [number, number + 1])).toEqual([number + 1]);
  expect(readFileSync(join(copy, 'unseen', table))).toEqual(readFileSync(join(copy, table)));
  rmSync(join(copy, 'unseen'), { recursive: true });
  writeFileSync(join(copy, 'unseen'), 'in the way');
  expect(holdTables(copy, [number])).toEqual([number]);
});
