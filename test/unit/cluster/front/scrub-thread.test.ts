// Goal: the thread of a running node finds rows that are missing, damaged or not as many as the database counts (D26),
// and names damaged segments. Method: the thread with a store on disk, which is damaged after the first round.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { MachineOptions } from '#database';
import type { KvBatch } from '#kv';
import { createMetrics, type LogFields, type Logger, silentLogger } from '#observability';
import { historiesIn, type LevelStore, openLevelStore } from '#storage';
import { ScrubThread, watchStore } from '../../../../src/cluster/front/scrub-thread.ts';
import { writeApplied } from '../../../../src/database/applied.ts';
import { DatabaseHost } from '../../../support/database-host.ts';
import { transactionOf } from '../../../support/database-requests.ts';
import { valueOf } from '../../../support/database-rows.ts';
import { eventually } from '../../../support/eventually.ts';
import { testDir } from '../../../support/test-scope.ts';

const PACE = { auditBytes: 2 ** 30, rowBytes: 2 ** 30, segmentBytes: 2 ** 30, roundMs: 5, repeatMs: 5 };

interface World {
  readonly directory: string;
  readonly store: LevelStore;
  readonly host: DatabaseHost;
}

/** A store with one table, in which a database has all of its rows. */
async function withTable(options: MachineOptions = {}): Promise<World> {
  const directory = testDir();
  const store = await openLevelStore(directory);
  onTestFinished(async () => store.close());
  const host = new DatabaseHost(options, store);
  for (const id of ['a', 'b', 'c']) await host.apply(transactionOf([{ id, type: 't', source: 's', stream: 'x' }]));
  await host.flush();
  await store.compact(Uint8Array.of(0), Uint8Array.of(0xff));
  return { directory, store, host };
}

async function write(store: LevelStore, fill: (batch: KvBatch) => void): Promise<void> {
  const batch = store.batch();
  fill(batch);
  await store.write(batch);
}

function tableIn(directory: string): string {
  return join(directory, readdirSync(directory).find((name) => name.endsWith('.ldb')) ?? '');
}

const DAMAGES: readonly [what: string, damage: (world: World) => Promise<void> | void, says: RegExp][] = [
  [
    'a missing row',
    ({ store, host }) => write(store, (batch) => batch.del(host.reader().keys.position(2))),
    /^Rows of group 7 are missing or damaged: rows of positions: 2 instead of 3$/,
  ],
  [
    'a wrong bit in the row of an old table',
    ({ directory, host }) => {
      const value = host.kv.get(host.reader().keys.position(2)) ?? new Uint8Array(0);
      const table = readFileSync(tableIn(directory));
      const at = table.indexOf(value);
      expect(at).toBeGreaterThan(0);
      // In place, because LevelDB has mapped the file.
      writeFileSync(tableIn(directory), table.with(at + 1, (table[at + 1] ?? 0) ^ 4), { flag: 'r+' });
    },
    /^Rows of group 7 are missing or damaged: The row with key 0100000007ff0000000000000002 is corrupt: its checksum is /,
  ],
  [
    'a wrong count',
    ({ store, host }) => {
      const key = host.reader().keys.applied().slice();
      const value = valueOf(key, (into) => writeApplied(into, { ...host.machine.applied, totalEvents: 4 }));
      return write(store, (batch) => batch.put(key, value));
    },
    /^Rows of group 7 are missing or damaged: events in rows of ids: 3 instead of 4$/,
  ],
];

it.each(DAMAGES)('reports %s', async (_what, damage, says) => {
  const world = await withTable();
  const failed = Promise.withResolvers<Error>();
  let isDamaged = false;
  const thread = new ScrubThread({
    storeDirectory: world.directory,
    pace: PACE,
    onVerified: ({ isWholeRound }) => {
      if (!isWholeRound || isDamaged) return;
      isDamaged = true;
      void damage(world);
    },
    onDamaged: failed.resolve,
    onFailure: failed.resolve,
  });
  onTestFinished(async () => thread.close());
  expect(await failed.promise).toMatchObject({
    details: { reason: 'CorruptRecord' },
    message: expect.stringMatching(says),
  });
  expect(isDamaged).toBe(true);
});

it('logs and counts a damaged segment in each round, until it is whole again', async () => {
  // Each transaction is a segment.
  const { directory, store } = await withTable({ segmentBytes: 1 });
  await store.checkpointFiles();
  const segment = join(historiesIn(directory), '00000007/0000000000000000.segment');
  const whole = readFileSync(segment);
  writeFileSync(segment, whole.with(5000, (whole[5000] ?? 0) ^ 4));
  const lines: LogFields[] = [];
  const logger: Logger = { ...silentLogger, error: (event, fields) => void lines.push({ event, ...fields }) };
  const metrics = createMetrics({ runtime: false });
  const places = { dataDirectory: directory, storeDirectory: directory };
  const groups: number[] = [];
  const onDamaged = (group: number): void => void groups.push(group);
  const thread = watchStore({ ...places, logger, metrics, onDamaged, pace: PACE });
  onTestFinished(async () => thread.close());
  const damaged = async (): Promise<string | undefined> =>
    /^cairn_segments_damaged (\d+)$/m.exec((await metrics.render()).body)?.[1];
  await eventually(() => expect(lines.length).toBeGreaterThan(1));
  await eventually(async () => expect(await damaged()).toBe('1'));
  expect(groups.slice(0, 2)).toEqual([7, 7]);
  expect(lines[1]).toEqual({
    event: 'segment-damaged',
    count: 1,
    revisions: [1],
    error: expect.objectContaining({
      message: expect.stringMatching(/^The bytes 0 to \d+ of the history of group 7 /),
    }),
    advice: expect.stringContaining('cannot be read on this node'),
  });
  writeFileSync(segment, whole);
  await eventually(async () => expect(await damaged()).toBe('0'));
});

it('ends on request, while a round is in progress or between two', async () => {
  const { directory } = await withTable();
  for (const roundMs of [0, 60_000]) {
    const verified = Promise.withResolvers<void>();
    const thread = new ScrubThread({
      storeDirectory: directory,
      pace: { ...PACE, roundMs },
      onVerified: () => verified.resolve(),
      onDamaged: verified.reject,
      onFailure: verified.reject,
    });
    await verified.promise;
    await expect(thread.close()).resolves.toBeUndefined();
  }
});
