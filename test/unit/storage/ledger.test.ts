// Goal: a ledger has every acknowledged row after any crash, and is rejected when it is damaged (LG1, LG2). Method: a
// small file, of which each byte is cut off, each bit flipped, and each subset of the sectors of a batch lost; a disk
// in memory that loses power before each of its changes; failed calls.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger, type RowChange, StorageFailure } from '#storage';
import { BATCH_BYTES_MAX, SECTOR_BYTES, SECTOR_CONTENT_BYTES } from '../../../src/storage/wal-format.ts';
import { hexRows, listedIn } from '../../support/format-pages.ts';
import { type Draw, seededDraw } from '../../support/log-model.ts';
import { EVERYTHING_SURVIVES, MemoryDisk, NOTHING_SURVIVES, type Survival } from '../../support/memory-disk.ts';
import { IS_LONG } from '../../support/runs.ts';
import { openLog } from '../../support/small-log.ts';

const PATH = 'data/ledger';
const SPARE_BYTES = 3072;
/** In `npm run test:all` every bit is flipped. */
const STRIDE = IS_LONG ? 1 : 7;
const ALL = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff) };

type Content = Readonly<Record<string, number>>;

function open(disk: MemoryDisk): Promise<Ledger> {
  return Ledger.open('data', { disk, spareBytes: SPARE_BYTES });
}

/** A value is so many equal bytes. */
function row(key: string, length = 3): RowChange {
  return { key: Buffer.from(key), value: new Uint8Array(length).fill(length) };
}

function without(key: string): RowChange {
  return { key: Buffer.from(key) };
}

/** The keys of the rows, with the lengths of their values. */
async function contentOf(opening: Ledger | Promise<Ledger>): Promise<Content> {
  const content: Record<string, number> = {};
  for (const { key, value } of (await opening).rows(ALL)) {
    expect(value.every((byte) => byte === value.length % 256)).toBe(true);
    content[Buffer.from(key).toString()] = value.length;
  }
  return content;
}

/** A file with a summary and two batches, the last one of four sectors. */
async function written(): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  const ledger = await open(disk);
  await ledger.write([row('a', 1), row('b', 2)]);
  await ledger.write([row('c', 3), without('a')]);
  await ledger.write([row('d', 1700)]);
  return disk;
}

const WRITTEN = { b: 2, c: 3, d: 1700 };
const [SUMMARY_AT, SECOND_AT, LAST_AT, END_AT] = [1, 2, 3, 7].map((sector) => sector * SECTOR_BYTES) as [
  number,
  number,
  number,
  number,
];

describe('a ledger', () => {
  let disk: MemoryDisk;

  beforeEach(async () => {
    disk = await written();
  });

  it('has the rows of all writes, in order, after it was opened again', async () => {
    expect(await contentOf(open(disk))).toEqual(WRITTEN);
    expect(Object.keys(await contentOf(open(disk)))).toEqual(['b', 'c', 'd']);
    const ledger = await open(disk);
    expect(ledger.get(Buffer.from('b'))).toEqual(Uint8Array.of(2, 2));
    expect(ledger.get(Buffer.from('a'))).toBeUndefined();
    expect(ledger.rows({ gte: Buffer.from('b'), lt: Buffer.from('d') })).toHaveLength(2);
  });

  it('has no file before its first write', async () => {
    const empty = new MemoryDisk();
    expect(await contentOf(open(empty))).toEqual({});
    expect(empty.list('data')).toEqual([]);
  });

  it('is replaced by a file with its rows when a batch does not fit, and a draft is removed', async () => {
    const renames = renamesOf(disk);
    const ledger = await open(disk);
    for (let count = 0; count < 40; count++) await ledger.write([row('d', count + 1)]);
    expect(await contentOf(open(disk))).toEqual({ ...WRITTEN, d: 40 });
    expect(renames.length).toBeGreaterThan(4);
    await ledger.write([row('large', 2 * SPARE_BYTES)]);
    expect(await contentOf(open(disk))).toEqual({ ...WRITTEN, d: 40, large: 2 * SPARE_BYTES });
    disk.open('data/ledger.next', 'create').close();
    await open(disk);
    expect(disk.list('data')).toEqual(['ledger']);
  });

  it('is replaced by a file with its rows when a batch is larger than a torn one may be', async () => {
    const ledger = await Ledger.open('large', { disk, spareBytes: 2 * BATCH_BYTES_MAX });
    await ledger.write([row('a', 1)]);
    const renames = renamesOf(disk);
    await ledger.write([row('b', 2)]);
    expect(renames).toEqual([]);
    await ledger.write([row('b', BATCH_BYTES_MAX)]);
    expect(renames).toEqual(['large/ledger']);
    expect(await contentOf(Ledger.open('large', { disk }))).toEqual({ a: 1, b: BATCH_BYTES_MAX });
  });

  it('stores rows of zeros', async () => {
    const ledger = await open(disk);
    await ledger.write([{ key: Buffer.from('zeros'), value: new Uint8Array(1500) }]);
    expect((await open(disk)).get(Buffer.from('zeros'))).toEqual(new Uint8Array(1500));
  });

  it('is rejected when it is cut anywhere', async () => {
    const whole = disk.file(PATH).slice();
    for (let size = 0; size < whole.length; size++) {
      disk.resize(PATH, size);
      expect([size, await verdictOn(disk)]).toEqual([size, 'corrupt']);
      disk.resize(PATH, whole.length);
      disk.file(PATH).set(whole);
    }
  });

  it('is rejected when any bit is flipped, and loses nothing by one after its last batch', async () => {
    const whole = disk.file(PATH).slice();
    const verdicts = new Map<string, number>();
    let count = 0;
    for (let bit = 0; bit < 8 * whole.length; bit += STRIDE) {
      disk.file(PATH)[bit >> 3] = (whole[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const byte = bit >> 3;
      // The tag of the next sector must be unused; later sectors may be what a crash has left of a batch.
      const isHarmless = bit >= 8 * END_AT && !(byte >= END_AT + SECTOR_CONTENT_BYTES && byte < END_AT + SECTOR_BYTES);
      const verdict = await verdictOn(disk);
      if (verdict !== (isHarmless ? JSON.stringify(WRITTEN) : 'corrupt')) verdicts.set(verdict, bit);
      disk.file(PATH).set(whole);
      count += 1;
    }
    expect([...verdicts]).toEqual([]);
    expect(count).toBeGreaterThan((8 * END_AT) / STRIDE);
  });

  it('loses a batch of which any sectors are missing, and only the last one', async () => {
    const whole = disk.file(PATH).slice();
    const sectors = (END_AT - LAST_AT) / SECTOR_BYTES;
    for (let lost = 1; lost < 2 ** sectors; lost++) {
      for (let sector = 0; sector < sectors; sector++) {
        const at = LAST_AT + sector * SECTOR_BYTES;
        if ((lost & (2 ** sector)) !== 0) disk.file(PATH).fill(0, at, at + SECTOR_BYTES);
      }
      const ledger = await open(disk);
      expect(await contentOf(ledger)).toEqual({ b: 2, c: 3 });
      await ledger.write([row('e', 5)]);
      expect(await contentOf(open(disk.afterPowerLoss(NOTHING_SURVIVES)))).toEqual({ b: 2, c: 3, e: 5 });
      disk.file(PATH).set(whole);
    }
    for (const at of [0, SUMMARY_AT, SECOND_AT]) {
      disk.file(PATH).fill(0, at, at + SECTOR_BYTES);
      await expect(open(disk)).rejects.toMatchObject({ kind: 'corrupt', offset: at });
      disk.file(PATH).set(whole);
    }
  });

  it('is rejected with its path, the position and advice', async () => {
    disk.file(PATH).fill(1, LAST_AT + 100, LAST_AT + 101);
    await expect(open(disk)).rejects.toThrow(
      /^data\/ledger is damaged at offset 1\d{3}: found .*Check the disk.*start the node with --join/,
    );
  });

  it('is rejected when it is a segment of a log', async () => {
    const { wal } = openLog(disk);
    await wal.close();
    disk.rename('wal/000000000001.wal', PATH);
    await expect(open(disk)).rejects.toMatchObject({ kind: 'foreign', path: PATH });
  });
});

describe('a ledger whose disk fails', () => {
  const kinds = ['create', 'write', 'sync', 'rename', 'sync-directory'] as const;
  let disk: MemoryDisk;
  let ledger: Ledger;

  beforeEach(async () => {
    disk = await written();
    ledger = await open(disk);
  });
  afterEach(() => {
    disk.onStep = undefined;
  });

  it.each(kinds)('rejects the write whose %s fails, and every later one (LG1)', async (kind) => {
    // Only a replaced file is created, renamed and synced with its directory.
    const length = kind === 'write' || kind === 'sync' ? 10 : 3 * SPARE_BYTES;
    disk.onStep = (step): void => {
      if (step.kind === kind) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    };
    const failed = expect.objectContaining({ kind: 'unwritten', path: PATH });
    await expect(ledger.write([row('e', length)])).rejects.toEqual(failed);
    disk.onStep = undefined;
    await expect(ledger.write([row('f', 1)])).rejects.toEqual(failed);
    const found = await contentOf(open(disk));
    expect([WRITTEN, { ...WRITTEN, e: length }]).toContainEqual(found);
    // The next process has made durable what it has found, also after a failed sync.
    expect(await contentOf(open(disk.afterPowerLoss(NOTHING_SURVIVES)))).toEqual(found);
  });

  it('names a full disk', async () => {
    disk.onStep = (step): void => {
      if (step.kind === 'write') throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    };
    await expect(ledger.write([row('e', 3 * SPARE_BYTES)])).rejects.toMatchObject({ kind: 'full', path: PATH });
    disk.onStep = undefined;
    expect(await contentOf(open(disk))).toEqual(WRITTEN);
  });

  it('writes one batch after the other', async () => {
    await Promise.all([ledger.write([row('e', 4)]), ledger.write([row('e', 5)]), ledger.write([row('f', 6)])]);
    expect(await contentOf(open(disk.afterPowerLoss(NOTHING_SURVIVES)))).toEqual({ ...WRITTEN, e: 5, f: 6 });
  });
});

it.each([1, 2, 3, 4])(
  'a ledger whose disk loses power has what was acknowledged, workload %i (LG1, LG2)',
  async (seed) => {
    const draw = seededDraw(seed);
    const disk = new MemoryDisk();
    let acknowledged: Content = {};
    let next: Content = {};
    const crashes: { readonly after: MemoryDisk; readonly allowed: readonly Content[] }[] = [];
    disk.onStep = (): void => {
      for (const survival of [NOTHING_SURVIVES, EVERYTHING_SURVIVES, someSurvive(draw), someSurvive(draw)]) {
        crashes.push({ after: disk.afterPowerLoss(survival), allowed: [acknowledged, next] });
      }
    };
    const ledger = await open(disk);
    for (let count = 0; count < 60; count++) {
      const changes = Array.from({ length: 1 + draw(3) }, () => drawChange(draw));
      next = changed(acknowledged, changes);
      await ledger.write(changes);
      acknowledged = next;
    }
    expect(crashes.length).toBeGreaterThan(400);
    for (const { after, allowed } of crashes) {
      const found = await contentOf(open(after));
      expect(allowed).toContainEqual(found);
      expect(await contentOf(open(after.afterPowerLoss(NOTHING_SURVIVES)))).toEqual(found);
    }
  },
);

it('docs/formats/ledger.md lists every byte of its example', async () => {
  const disk = new MemoryDisk();
  const ledger = await Ledger.open('data', { disk, spareBytes: 1024 });
  const trash = (value: string): RowChange => ({
    key: Buffer.from('00010000004d', 'hex'),
    value: Buffer.from(value, 'hex'),
  });
  await ledger.write([{ key: Buffer.from('0002', 'hex'), value: Buffer.from('hello') }]);
  await ledger.write([trash('011bdf05a5'), { key: Buffer.from('0002', 'hex') }]);
  const shown = disk.file(PATH);
  const { bytes, count } = listedIn('ledger.md', shown.length);
  expect(count).toBe(84 + 512 + 512);
  expect(hexRows(bytes)).toEqual(hexRows(shown));
});

/** The rows as text, or the kind of the failure. */
function verdictOn(disk: MemoryDisk): Promise<string> {
  return contentOf(open(disk)).then(
    (content) => JSON.stringify(content),
    (failure: unknown) => (failure instanceof StorageFailure ? failure.kind : String(failure)),
  );
}

/** Names that files get from now on. */
function renamesOf(disk: MemoryDisk): readonly string[] {
  const renames: string[] = [];
  disk.onStep = ({ kind, path }): void => {
    if (kind === 'rename') renames.push(path);
  };
  return renames;
}

function someSurvive(draw: Draw): Survival {
  return { sector: () => draw(2) === 0, names: (count) => draw(count + 1) };
}

function drawChange(draw: Draw): RowChange {
  const key = `row ${draw(6)}`;
  return draw(4) === 0 ? without(key) : row(key, draw(8) === 0 ? 1 + draw(3000) : 1 + draw(100));
}

function changed(content: Content, changes: readonly RowChange[]): Content {
  const rows = new Map(Object.entries(content));
  for (const { key, value } of changes) {
    const name = Buffer.from(key).toString();
    if (value === undefined) rows.delete(name);
    else rows.set(name, value.length);
  }
  return Object.fromEntries(rows);
}
