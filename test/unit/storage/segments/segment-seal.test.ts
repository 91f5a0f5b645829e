// Goal: a sealed segment has one footer, whatever led to it, and whatever is wrong with the file is found without any
// other one. Method: a simulated disk; every byte and every cut of a small segment.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type GroupId, toGroupId } from '#base';
import { type HistoryAppend, HistoryFault } from '#kv';
import { BLOCK_BYTES } from '../../../../src/storage/segments/segment-format.ts';
import { bytesAt, recordsAt, startAt } from '../../../support/history-records.ts';
import type { MemorySegmentDisk, SegmentSurvival } from '../../../support/memory-segment-disk.ts';
import { HISTORIES, SegmentHistories, verified } from '../../../support/segment-histories.ts';

const GROUP = toGroupId(7);
const OTHER = toGroupId(8);
const FILE = `${HISTORIES}/00000007/0000000000000000.segment`;
const NOTHING: SegmentSurvival = { sector: () => false, name: () => false };

/** A history of two segments, the first of which is sealed. */
async function sealed(lengths: readonly number[]): Promise<SegmentHistories> {
  const kept = new SegmentHistories();
  const first = lengths.reduce((sum, length) => sum + length, 0);
  await append(kept, recordsAt({ position: 0, lengths: [...lengths, 10], segmentBytes: first }));
  await kept.sync();
  return kept;
}

function append(kept: SegmentHistories, records: HistoryAppend, group: GroupId = GROUP): Promise<void> {
  return kept.append(new Map([[group, records]]));
}

function verifiedFile(disk: MemorySegmentDisk): ReturnType<typeof verified> {
  return verified(disk, FILE, { base: 0 });
}

/** A record of 40,000 bytes with all that precedes its content. */
function record(kind: number): readonly Uint8Array[] {
  return [Uint8Array.of(kind, 0xbc, 0xb8, 0x02), new Uint8Array(39_996)];
}

describe('the footer of a segment', () => {
  it('names the next segment and the hash of the data', async () => {
    const { disk } = await sealed([5_000, 300]);
    expect(verified(disk, FILE, { base: 0, next: 5_300 })).toEqual(startAt(5_300));
    const file = disk.file(FILE);
    const hash = createHash('sha256').update(file.subarray(0, 73)).update(bytesAt(0, 5_300)).digest();
    expect(Buffer.from(file).subarray(-BLOCK_BYTES).subarray(72, 104)).toEqual(hash);
  });

  it('has a table with a record and its revision of every 64 KiB', async () => {
    const kept = new SegmentHistories();
    const kinds = [1, 1, 9, 1, 1, 9, 9, 1];
    const bytes = Buffer.concat(kinds.flatMap(record));
    const next = { ...startAt(bytes.length), revision: 6 };
    await append(kept, { position: 0, bytes: Buffer.concat([bytes, ...record(1)]), segments: [startAt(0), next] });
    await kept.sync();
    expect(verifiedFile(kept.disk)).toEqual(next);
    const table = Buffer.from(kept.disk.file(FILE)).subarray(-2 * BLOCK_BYTES);
    const entries = [0, 1, 2].map((index) => [table.readUInt32LE(16 * index), table.readUInt32LE(16 * index + 8)]);
    expect(entries).toEqual([
      [3, 80_000],
      [4, 160_000],
      [5, 240_000],
    ]);
    expect(table.readUInt16LE(4_090)).toBe(0x8000 + 48);
  });

  it('is the same after a restart, a cut and a copy as without them', async () => {
    const lengths = [3_000, 3_000, 3_000, 4_000, 10];
    const records = (from: number, to: number): HistoryAppend => {
      const position = lengths.slice(0, from).reduce((sum, length) => sum + length, 0);
      const segment = position === 0 ? undefined : Math.min(9_000, position === 13_000 ? 9_000 : 0);
      return recordsAt({ position, segment, lengths: lengths.slice(from, to), segmentBytes: 9_000 });
    };
    let kept = new SegmentHistories();
    await append(kept, records(0, 5));
    await kept.sync();
    const expected = [...kept.disk.file(FILE)];
    // The first segment ends, and the process with it.
    kept = new SegmentHistories();
    await append(kept, records(0, 2));
    await kept.sync();
    await append(kept, records(2, 5));
    kept = kept.restarted();
    expect(await kept.cut(GROUP, 13_010)).toBe(13_010);
    await kept.sync();
    expect([...kept.disk.file(FILE)]).toEqual(expected);
    // It is continued after a cut, which removes the footer.
    await kept.histories.cut(GROUP, 6_000);
    expect(verifiedFile(kept.disk)).toMatch(/not that of a footer/);
    await append(kept, records(2, 5));
    await kept.histories.copy(GROUP, OTHER);
    expect([...kept.disk.file(FILE)]).toEqual(expected);
    await kept.histories.cut(OTHER, 6_000);
    await kept.sync();
    expect([...kept.disk.file(FILE)]).toEqual(expected);
  });

  it('is written again after a start where it is torn, or was not due at the last sync', async () => {
    const kept = new SegmentHistories();
    await append(kept, recordsAt({ position: 0, lengths: [5_000] }));
    await kept.sync();
    await append(kept, recordsAt({ position: 5_000, segment: 0, lengths: [10], segmentBytes: 5_000 }));
    const crashes: SegmentHistories[] = [];
    const sector = (path: string, offset: number): boolean => path !== FILE || offset % 1_024 > 0;
    kept.disk.onStep = () => crashes.push(kept.afterPowerLoss({ sector, name: () => true }));
    await kept.sync();
    // The data are synced, the footer is written, and the power fails.
    const next = crashes[2] ?? kept;
    expect(next.disk.file(FILE)).toHaveLength(4 * BLOCK_BYTES);
    expect(verifiedFile(next.disk)).toBeTypeOf('string');
    expect(await next.cut(GROUP, 5_010)).toBe(5_010);
    expect(next.disk.file(FILE)).toHaveLength(3 * BLOCK_BYTES);
    await next.sync();
    expect(verified(next.disk, FILE, { base: 0, next: 5_000 })).toBeTypeOf('object');
  });

  it('is not written before the data are on stable storage', async () => {
    const kept = new SegmentHistories();
    await append(kept, recordsAt({ position: 0, lengths: [5_000, 10], segmentBytes: 5_000 }));
    let crashed: MemorySegmentDisk | undefined;
    let writes = 0;
    kept.disk.onStep = ({ kind }) => {
      if (kind === 'write') writes += 1;
      else if (writes === 1) crashed ??= kept.disk.afterPowerLoss({ ...NOTHING, name: () => true });
    };
    await kept.sync();
    expect(crashed?.file(FILE).subarray(0, 3 * BLOCK_BYTES)).toEqual(kept.disk.file(FILE).subarray(0, 3 * BLOCK_BYTES));
    expect(crashed?.file(FILE)).not.toEqual(kept.disk.file(FILE));
  });

  it('is not written for damaged data', async () => {
    const kept = new SegmentHistories();
    await append(kept, recordsAt({ position: 0, lengths: [5_000, 10], segmentBytes: 5_000 }));
    const bytes = kept.disk.file(FILE);
    bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
    const size = bytes.length;
    await expect(kept.sync()).rejects.toThrow('block 1 does not match its checksum');
    expect(kept.disk.file(FILE)).toHaveLength(size);
    await expect(kept.sync()).rejects.toThrow(HistoryFault);
  });
});

describe('a sealed segment', () => {
  it('is refused with any byte flipped', async () => {
    const { disk } = await sealed([5_000]);
    const bytes = disk.file(FILE);
    expect(bytes).toHaveLength(4 * BLOCK_BYTES);
    for (let at = 0; at < bytes.length; at++) {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
      expect(verifiedFile(disk), `byte ${at}`).toBeTypeOf('string');
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
    }
    expect(verifiedFile(disk)).toBeTypeOf('object');
  });

  it('is refused with any byte of its table flipped', async () => {
    const kept = new SegmentHistories();
    const segments = [startAt(0), { ...startAt(120_000), revision: 4 }];
    await append(kept, { position: 0, bytes: Buffer.concat([1, 1, 1, 1].flatMap(record)), segments });
    await kept.sync();
    const { disk } = kept;
    const bytes = disk.file(FILE);
    expect(verifiedFile(disk)).toBeTypeOf('object');
    for (let at = bytes.length - 2 * BLOCK_BYTES; at < bytes.length - BLOCK_BYTES; at++) {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
      expect(verifiedFile(disk), `byte ${at}`).toBeTypeOf('string');
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
    }
  });

  it('is refused with any other length, and with parts of another segment', async () => {
    const { disk } = await sealed([5_000]);
    const bytes = disk.file(FILE).slice();
    for (let size = 0; size < bytes.length; size++) {
      disk.resize(FILE, size);
      expect(verifiedFile(disk), `cut to ${size}`).toBeTypeOf('string');
      disk.resize(FILE, bytes.length);
      disk.file(FILE).set(bytes);
    }
    const other = (await sealed([5_002])).disk.file(FILE);
    // The blocks before have equal bytes in both.
    for (const block of [2, 3]) {
      const range = [block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES] as const;
      disk.file(FILE).set(other.subarray(...range), range[0]);
      expect(verifiedFile(disk), `block ${block}`).toBeTypeOf('string');
      disk.file(FILE).set(bytes);
    }
    for (const more of [BLOCK_BYTES, 1]) {
      disk.resize(FILE, bytes.length + more);
      expect(verifiedFile(disk), `longer by ${more}`).toBeTypeOf('string');
    }
  });

  it('is refused when its records do not end with it, or are not as many as the next one says', async () => {
    const content = new Uint8Array(10);
    const whole = Uint8Array.of(1, 10, ...content);
    const wrong: readonly (readonly [Uint8Array, number, RegExp])[] = [
      [whole, 2, /./],
      [whole, 1, /before revision 2, and the next one begins at 12 with 1/],
      [Uint8Array.of(1, 11, ...content), 2, /its last record is cut/],
      [Uint8Array.of(1, 9, ...content), 2, /its last record is cut/],
      [new Uint8Array(12).fill(0xff), 1, /its last record is cut/],
    ];
    for (const [bytes, revision, message] of wrong) {
      const kept = new SegmentHistories();
      const segments = [startAt(0), { ...startAt(bytes.length), revision }];
      await append(kept, { position: 0, bytes: Buffer.concat([bytes, whole]), segments });
      const found = await kept.sync().then(
        () => 'sealed',
        (failure: unknown) => String(failure),
      );
      expect(found).toMatch(message);
      expect(found === 'sealed').toBe(bytes === whole && revision === 2);
    }
  });

  it('is verified with the whole history', async () => {
    const { disk, histories } = await sealed([5_000]);
    await histories.verify(GROUP, 5_010, 5_010);
    const bytes = disk.file(FILE);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    await expect(histories.verify(GROUP, 5_010, 5_010)).rejects.toThrow('not that of a footer');
    await disk.remove(FILE);
    await expect(histories.verify(GROUP, 5_010, 5_010)).rejects.toThrow('it has no segment with position 0');
    // A footer after the synced end may be torn.
    const unsynced = await sealed([5_000]);
    const end = unsynced.disk.file(FILE);
    end[end.length - 1] = (end.at(-1) ?? 0) ^ 1;
    await unsynced.histories.verify(GROUP, 5_010, 5_000);
  });
});
