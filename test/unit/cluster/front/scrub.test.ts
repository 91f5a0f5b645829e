// Goal: the scrub audits every database and every sealed segment in each round, at its pace; it ends at damage of rows,
// reports damaged segments, and ends at nothing else. Method: a store with databases; pauses without a timer.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CATALOG_GROUP, caught, DatabaseError, toGroupId } from '#base';
import { auditInUse, DatabaseReader, eventsOf, groupsWithRows, RowKeys } from '#database';
import { isHistoryDamage } from '#kv';
import { historiesIn, type LevelStore, openLevelStore } from '#storage';
import { type DamagedSegment, Scrub, type ScrubPace, type Verified } from '../../../../src/cluster/front/scrub.ts';
import { DatabaseHost } from '../../../support/database-host.ts';
import { transactionOf } from '../../../support/database-requests.ts';
import { recordsAt } from '../../../support/history-records.ts';
import { testDir } from '../../../support/test-scope.ts';

const PACE: ScrubPace = { auditBytes: 2 ** 30, rowBytes: 2 ** 20, segmentBytes: 2 ** 21, roundMs: 0, repeatMs: 12_345 };
const EVENT = { id: 'a', type: 't', source: 's', stream: 'x' };

interface Filled {
  readonly storeDirectory: string;
  readonly kv: LevelStore;
  readonly host: DatabaseHost;
}

async function filled(ids: readonly string[] = ['a', 'b', 'c'], segmentBytes?: number): Promise<Filled> {
  const storeDirectory = testDir();
  const kv = await openLevelStore(storeDirectory);
  onTestFinished(async () => kv.close());
  const host = new DatabaseHost(segmentBytes === undefined ? {} : { segmentBytes }, kv);
  for (const id of ids) await host.apply(transactionOf([{ ...EVENT, id }]));
  await host.flush();
  return { storeDirectory, kv, host };
}

async function remove(kv: LevelStore, key: Uint8Array): Promise<void> {
  const batch = kv.batch();
  batch.del(key);
  await kv.write(batch);
}

/** Runs so many rounds; returns the pauses, the reports and the damaged segments. */
async function run(
  ports: Pick<Filled, 'storeDirectory' | 'kv'>,
  rounds: number,
): Promise<[number[], Verified[], DamagedSegment[]]> {
  const [pauses, reports, found]: [number[], Verified[], DamagedSegment[]] = [[], [], []];
  const damaged = (segment: DamagedSegment): void => void found.push(segment);
  let left = rounds;
  const report = (verified: Verified): void => {
    reports.push(verified);
    if (verified.isWholeRound) left -= 1;
  };
  const pause = async (delayMs: number): Promise<void> => {
    if (left === 0) throw new Error('enough');
    pauses.push(delayMs);
  };
  await expect(new Scrub({ ...ports, pace: PACE, report, damaged, pause }).run()).rejects.toThrow('enough');
  return [pauses, reports, found];
}

it('pauses after each database for as long as its rows take at the average pace, but not in the first round', async () => {
  const ports = await filled();
  const [pauses, reports] = await run(ports, 2);
  const [read = 0, round, again, rest = 0] = pauses;
  expect([round, again, pauses.length]).toEqual([0, read, 4]);
  expect(read + rest).toBeCloseTo(1024 * read);
  const bytes = Math.round((read * 2 ** 30) / 1000);
  expect(bytes).toBeGreaterThan(500);
  expect(reports.filter(({ isWholeRound }) => isWholeRound)).toHaveLength(2);
  expect(reports.reduce((sum, verified) => sum + verified.bytes, 0)).toBe(2 * bytes);
});

it('verifies sealed segments after the rows, reads one with a fault again, and reports it in each round', async () => {
  const { kv, storeDirectory } = await filled();
  const batch = kv.batch();
  batch.append(toGroupId(900), recordsAt({ position: 0, lengths: [400_000, 600_000, 10], segmentBytes: 400_000 }));
  await kv.write(batch);
  await kv.checkpointFiles();
  const [, reports, none] = await run({ kv, storeDirectory }, 1);
  expect([(reports.at(-1)?.bytes ?? 0) > 1_000_000, none]).toEqual([true, []]);
  const path = join(historiesIn(storeDirectory), '00000384/0000000000061a80.segment');
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.with(300_000, (bytes[300_000] ?? 0) ^ 4));
  const [pauses, , damaged] = await run({ kv, storeDirectory }, 2);
  expect(damaged).toHaveLength(2);
  expect(damaged[0]?.fault.message).toMatch(
    /^The bytes 400000 to 1000000 of the history of group 900 cannot be read: segment /,
  );
  expect(pauses).toContain(PACE.repeatMs);
});

it('names exactly the transactions that cannot be read, and the others are read', async () => {
  const ids = Array.from({ length: 400 }, (_, index) => `event-${index}`);
  const ports = await filled(ids, 20_000);
  const { kv, storeDirectory, host } = ports;
  await kv.checkpointFiles();
  const directory = join(historiesIn(storeDirectory), '00000007');
  const [, second = ''] = readdirSync(directory).toSorted();
  const bytes = readFileSync(join(directory, second));
  // In the second block and in the third one, and in the last one, which is part of the footer.
  for (const at of [6_000, 10_000, bytes.length - 4_000]) bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(join(directory, second), bytes);
  const [, , damaged] = await run(ports, 1);
  const again = await openLevelStore(storeDirectory);
  onTestFinished(async () => again.close());
  const isUnreadable = (revision: number): boolean =>
    caught(
      () => [...eventsOf(new DatabaseReader({ ...host.source, kv: again }).transaction(revision))].length === 0,
      isHistoryDamage,
    );
  const unreadable = ids.map((_, index) => index + 1).filter(isUnreadable);
  expect(unreadable.length).toBeGreaterThan(10);
  expect(unreadable.length).toBeLessThan(200);
  expect(damaged.map(({ revisions }) => revisions)).toEqual([unreadable]);
});

it('reads in the next round what cannot be read now', async () => {
  const { kv, storeDirectory } = await filled();
  const range = vi.spyOn(kv, 'range');
  range.mockImplementationOnce(() => {
    throw new DatabaseError('internal', 'Rows could not be read: IO error: too many open files');
  });
  const [pauses, reports] = await run({ kv, storeDirectory }, 1);
  // It is still the first round then.
  expect([pauses[0], pauses.length]).toEqual([0, 2]);
  expect(reports.at(-1)?.isWholeRound).toBe(true);
  range.mockImplementationOnce(() => {
    throw new DatabaseError('internal', 'Corruption: bad block', { details: { reason: 'StoreDamaged' } });
  });
  await expect(
    new Scrub({
      kv,
      storeDirectory,
      pace: PACE,
      report: () => undefined,
      damaged: () => undefined,
      pause: async () => undefined,
    }).run(),
  ).rejects.toThrow('bad block');
});

it('takes rows of a database without an applied row for no fault', async () => {
  const { kv, host } = await filled();
  const keys = new RowKeys(host.source.group);
  const audited = (): Promise<string | undefined> => auditInUse(host.source, async () => undefined);
  await remove(kv, keys.position(2).slice());
  expect(await audited()).toMatch('rows of positions');
  await remove(kv, keys.applied().slice());
  expect(await audited()).toBeUndefined();
  // It is being rebuilt, which replaces damaged rows, too.
  const batch = kv.batch();
  batch.put(keys.position(3), Uint8Array.of(1, 2, 3, 4, 5, 6));
  await kv.write(batch);
  expect(await audited()).toBeUndefined();
});

it('finds databases by their rows', async () => {
  const { kv } = await filled();
  const batch = kv.batch();
  for (const group of [1, 900]) batch.put(new RowKeys(toGroupId(group)).position(1), Uint8Array.of(1));
  batch.put(new RowKeys(CATALOG_GROUP).applied(), Uint8Array.of(1));
  await kv.write(batch);
  const groups: number[] = [];
  for await (const group of groupsWithRows(kv)) groups.push(group);
  expect(groups).toEqual([1, 7, 900]);
});

it('reports a key that names no group as damage of the whole store', async () => {
  const { kv, storeDirectory } = await filled();
  const batch = kv.batch();
  batch.put(Uint8Array.of(1, 7), Uint8Array.of(1));
  await kv.write(batch);
  const scrub = new Scrub({
    kv,
    storeDirectory,
    pace: PACE,
    report: () => undefined,
    damaged: () => undefined,
    pause: async () => undefined,
  });
  await expect(scrub.run()).rejects.toMatchObject({
    details: { reason: 'StoreDamaged' },
    message: expect.stringContaining('a row with key 0107'),
  });
});
