// Goal: a bit that flips in one of LevelDB's logs is noticed before LevelDB drops what it belongs to (W17).
// Method: logs written by LevelDB itself; every bit of a small one, some of a large one, every cut.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLevelStore } from '#storage';
import { BLOCK_BYTES, verifyLevelLogs, walkLog } from '../../../src/storage/level-log-check.ts';
import { tempDir } from '../../support/temp-dir.ts';

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

function* blocksOf(log: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < log.length; from += BLOCK_BYTES) yield log.subarray(from, from + BLOCK_BYTES);
}

test('logs as LevelDB writes them are whole, also over many blocks, and however they are cut (W17)', async () => {
  using dir = tempDir();
  const { bytes } = await writtenLog(dir.path, 1000);
  expect(bytes.length).toBeGreaterThan(3 * 32 * 1024);
  expect(walkLog(blocksOf(bytes)).damagedAt).toBeUndefined();
  for (let length = 0; length < bytes.length; length += 97)
    expect(walkLog(blocksOf(bytes.subarray(0, length))).damagedAt).toBeUndefined();
});

test('every bit in front of the last record is guarded (W17)', async () => {
  using dir = tempDir();
  const { bytes } = await writtenLog(dir.path, 12);
  const lastRecord = 11 * Math.floor(bytes.length / 12);
  for (let bit = 0; bit < lastRecord * 8; bit++) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(walkLog(blocksOf(damaged)).damagedAt).toBeLessThanOrEqual(bit >> 3);
  }
});

test('the logs are told with where their whole records end', async () => {
  using dir = tempDir();
  const { path, bytes } = await writtenLog(dir.path, 10);
  expect(verifyLevelLogs(dir.path)).toEqual([{ path, bytes: bytes.length, isTorn: false }]);
  const recordBytes = bytes.length / 10;
  writeFileSync(path, bytes.subarray(0, bytes.length - 1));
  expect(verifyLevelLogs(dir.path)).toEqual([{ path, bytes: 9 * recordBytes, isTorn: true }]);
  writeFileSync(path, bytes.subarray(0, 9 * recordBytes));
  expect(verifyLevelLogs(dir.path)).toEqual([{ path, bytes: 9 * recordBytes, isTorn: false }]);
});
