// Goal: reads leave the thread where a disk is slow, and not where the thread only lost its processor. Method: a clock
// and a counter of disk reads in the hands of the test.
import { describe, expect, it } from 'vitest';
import { ReadTimes } from '../../../../src/storage/segments/read-times.ts';

class World {
  nowMs = 0;
  diskReads = 0;
  readonly times: ReadTimes = new ReadTimes({ nowMs: () => this.nowMs, diskReads: () => this.diskReads });

  read(elapsedMs: number, fromDisk = false): boolean {
    this.times.timed(() => {
      this.nowMs += elapsedMs;
      if (fromDisk) this.diskReads += 1;
    });
    return this.times.isCold;
  }
}

describe('the times of reads', () => {
  it('are taken of reads, which return what they read', () => {
    expect(new World().times.timed(() => 'bytes')).toBe('bytes');
  });

  it('show a cold file by one slow read while the process read from a disk', () => {
    const world = new World();
    expect(world.read(0.9, true)).toBe(false);
    expect(world.read(1.1, true)).toBe(true);
  });

  it('show a cold file by three slow reads in a row where no disk reads are counted', () => {
    const world = new World();
    expect([world.read(5), world.read(5), world.read(0.1), world.read(5), world.read(5)]).not.toContain(true);
    expect(world.read(5)).toBe(true);
  });

  it('let one read on the thread after each pause, which is doubled up to 6.4 s by each slow one', () => {
    const world = new World();
    world.read(5, true);
    for (const pauseMs of [100, 200, 400, 800, 1_600, 3_200, 6_400, 6_400]) {
      world.nowMs += pauseMs - 1;
      expect(world.times.isCold).toBe(true);
      world.nowMs += 1;
      expect(world.times.isCold).toBe(false);
      expect(world.read(5)).toBe(true);
    }
  });

  it('show a file in the page cache by one fast read, and begin with the shortest pause again', () => {
    const world = new World();
    world.read(5, true);
    world.nowMs += 100;
    world.read(5);
    world.nowMs += 200;
    expect(world.read(0.1)).toBe(false);
    expect(world.read(5)).toBe(false);
    expect(world.read(5, true)).toBe(true);
    world.nowMs += 100;
    expect(world.times.isCold).toBe(false);
  });
});
