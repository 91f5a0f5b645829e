// Goal: a bit that flips in one of LevelDB's logs is noticed before LevelDB drops what it belongs to (W17).
// Method: logs written by LevelDB itself; every bit of a small one, some of a large one, every cut.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crc32c } from '#base';
import { openLevelStore, StorageFailure } from '#storage';
import { brokenRecord, verifyLevelLogs } from '../../../src/storage/level-log-check.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Writes `batches` batches and hands back the log that holds them, and where it is. */
async function writtenLog(dir: string, batches: number): Promise<{ readonly path: string; readonly bytes: Buffer }> {
  const store = await openLevelStore(dir);
  for (let i = 0; i < batches; i++) {
    const batch = store.batch();
    batch.put(Buffer.from(`key-${i}`), Buffer.alloc(100, i));
    await store.write(batch);
  }
  await store.close();
  const name = readdirSync(dir).find((file) => file.endsWith('.log')) ?? '';
  return { path: join(dir, name), bytes: readFileSync(join(dir, name)) };
}

test('CRC-32C is that of its published check value', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

test('logs as LevelDB writes them are whole, also over many blocks, and however they are cut (W17)', async () => {
  using dir = tempDir();
  const { bytes } = await writtenLog(dir.path, 1000);
  expect(bytes.length).toBeGreaterThan(3 * 32 * 1024);
  expect(brokenRecord(bytes)).toBeUndefined();
  for (let length = 0; length < bytes.length; length += 97)
    expect(brokenRecord(bytes.subarray(0, length))).toBeUndefined();
});

test('every bit in front of the last record is guarded (W17)', async () => {
  using dir = tempDir();
  const { bytes } = await writtenLog(dir.path, 12);
  const lastRecord = 11 * Math.floor(bytes.length / 12);
  for (let bit = 0; bit < lastRecord * 8; bit++) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(brokenRecord(damaged)).toBeLessThanOrEqual(bit >> 3);
  }
});

test('a damaged log is refused with its file and its place before it is opened (W17)', async () => {
  using dir = tempDir();
  const { path, bytes } = await writtenLog(dir.path, 1000);
  const at = 40_000;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
  expect(() => verifyLevelLogs(dir.path)).toThrow(StorageFailure);
  expect(() => verifyLevelLogs(dir.path)).toThrow(path);
});

test('a directory that is not there yet has no logs to be damaged', () => {
  using dir = tempDir();
  expect(() => verifyLevelLogs(join(dir.path, 'store'))).not.toThrow();
});
