// Goal: a flipped bit in a log of LevelDB is found before LevelDB drops the records after it (W17). Method: logs
// written by LevelDB; every bit of a small one, some bits of a large one, every cut.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLevelStore } from '#storage';
import { BLOCK_BYTES, damageIn } from '../../../src/storage/level-log-check.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function writtenLog(dir: string, batches: number): Promise<Buffer> {
  const store = await openLevelStore(dir);
  for (let i = 0; i < batches; i++) {
    const batch = store.batch();
    batch.put(Buffer.from(`key-${i}`), Buffer.alloc(100, i));
    await store.write(batch);
  }
  await store.close();
  const name = readdirSync(dir).find((file) => file.endsWith('.log')) ?? '';
  return readFileSync(join(dir, name));
}

function* blocksOf(log: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < log.length; from += BLOCK_BYTES) yield log.subarray(from, from + BLOCK_BYTES);
}

test('logs of LevelDB are valid, also over many blocks, and cut at any length (W17)', async () => {
  using dir = tempDir();
  const bytes = await writtenLog(dir.path, 1000);
  expect(bytes.length).toBeGreaterThan(3 * 32 * 1024);
  expect(damageIn(blocksOf(bytes))).toBeUndefined();
  for (let length = 0; length < bytes.length; length += 97)
    expect(damageIn(blocksOf(bytes.subarray(0, length)))).toBeUndefined();
});

test('every flipped bit before the last record is found (W17)', async () => {
  using dir = tempDir();
  const bytes = await writtenLog(dir.path, 12);
  const lastRecord = 11 * Math.floor(bytes.length / 12);
  for (let bit = 0; bit < lastRecord * 8; bit++) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(damageIn(blocksOf(damaged))).toBeLessThanOrEqual(bit >> 3);
  }
});
