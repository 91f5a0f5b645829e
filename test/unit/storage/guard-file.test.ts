// Goal: the guard records how far the log is synced, survives the loss or damage of either slot, and is rejected when
// both are damaged (W8). Method: a guard on a disk in memory, with every bit flipped, in one slot or both.
import { describe, expect, it } from 'vitest';
import { GuardFile } from '../../../src/storage/guard-file.ts';
import { MemoryDisk, NOTHING_SURVIVES } from '../../support/memory-disk.ts';
import { IDENTITY } from '../../support/small-log.ts';

const PATH = 'wal/guard';
const SLOT_BYTES = 4096;
const USED_BYTES = 64;

describe('the guard file', () => {
  it('starts with nothing synced, and is durable under its name before a segment exists', () => {
    const disk = new MemoryDisk();
    expect(GuardFile.create(disk, PATH, IDENTITY).syncedThrough).toBe(0);
    expect(reopen(disk.afterPowerLoss(NOTHING_SURVIVES)).syncedThrough).toBe(0);
    expect(disk.file(PATH)).toHaveLength(2 * SLOT_BYTES);
  });

  it('has its last note in the next process, and after a power loss the last synced note (W8)', () => {
    const disk = new MemoryDisk();
    const guard = GuardFile.create(disk, PATH, IDENTITY);
    guard.advance(5);
    guard.sync();
    guard.advance(6);
    guard.advance(9);
    expect(guard.syncedThrough).toBe(9);
    expect(reopen(disk.afterProcessDeath()).syncedThrough).toBe(9);
    expect(reopen(disk.afterPowerLoss(NOTHING_SURVIVES)).syncedThrough).toBe(5);
  });

  it('writes its slots alternately, so that a torn write keeps the previous note', () => {
    const disk = new MemoryDisk();
    const guard = GuardFile.create(disk, PATH, IDENTITY);
    for (let seq = 1; seq <= 10; seq++) {
      const before = disk.file(PATH).slice();
      guard.advance(seq);
      const changed = disk.file(PATH).findIndex((byte, at) => byte !== before[at]);
      const torn = disk.afterProcessDeath();
      torn.file(PATH).fill(0, changed - (changed % SLOT_BYTES), changed - (changed % SLOT_BYTES) + SLOT_BYTES);
      expect(reopen(torn).syncedThrough).toBe(seq - 1);
    }
  });

  it('uses its other slot when any one bit of a slot is flipped (W8)', () => {
    const disk = new MemoryDisk();
    const guard = GuardFile.create(disk, PATH, IDENTITY);
    guard.advance(7);
    guard.advance(8);
    const bytes = disk.file(PATH);
    const wrong: number[] = [];
    for (let bit = 0; bit < 8 * USED_BYTES; bit++) {
      for (const slot of [0, 1]) {
        const at = slot * SLOT_BYTES + (bit >> 3);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        const { syncedThrough } = reopen(disk);
        // Generation 3, with the newest note, is in slot 1.
        if (syncedThrough !== (slot === 1 ? 7 : 8)) wrong.push(bit);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      }
    }
    expect(wrong).toEqual([]);
  });

  it('is rejected when both slots are damaged, or the file is cut', () => {
    const disk = new MemoryDisk();
    GuardFile.create(disk, PATH, IDENTITY);
    disk.file(PATH)[20] = 0xff;
    disk.file(PATH)[SLOT_BYTES + 20] = 0xff;
    expect(() => reopen(disk)).toThrow(/guard is damaged at offset 0: found two slots of which neither/);
    disk.resize(PATH, SLOT_BYTES);
    expect(() => reopen(disk)).toThrow(/guard is missing or cut short: found 4096 bytes instead of 8192/);
  });
});

function reopen(disk: MemoryDisk): GuardFile {
  return GuardFile.open(disk, PATH, IDENTITY);
}
