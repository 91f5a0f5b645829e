// Goal: rows and history of a deleted group are cleared permanently, with a power failure at any time (C8). Method: a
// store that may lose each batch that is not synced; the power fails after the trash has written.
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import type { KvReader } from '#kv';
import { Trash } from '../../../../src/cluster/core/trash.ts';
import { databaseMachines } from '../../../../src/cluster/database-machines.ts';
import { LossyKv } from '../../../support/cluster/lossy-kv.ts';
import { recordsAt } from '../../../support/history-records.ts';

const GROUP = toGroupId(7);
const ROWS = databaseMachines.rowsOf(GROUP);

const TRASH_ROWS = { gte: Uint8Array.of(0, 1), lt: Uint8Array.of(0, 2) };

async function countOf(kv: KvReader, rows: typeof ROWS): Promise<number> {
  const range = kv.range(rows);
  const found = await range.next(100);
  await range.close();
  return found.length;
}

it('the mark of a deleted group is removed once the deletions of its rows are durable (C8)', async () => {
  const kv = new LossyKv();
  const batch = kv.batch();
  const trash = new Trash({
    kv,
    machines: databaseMachines,
    syncStore: () => kv.checkpointFiles(),
    limits: { trashSliceRows: 2 },
    cleared: async () => undefined,
  });
  for (let row = 0; row < 5; row++) batch.put(Uint8Array.from([...ROWS.gte, row]), new Uint8Array(1));
  batch.append(GROUP, recordsAt({ position: 0, lengths: [100] }));
  trash.mark(batch, GROUP);
  await kv.write(batch);
  await kv.checkpointFiles();
  trash.add(GROUP, 0);

  await trash.run();

  for (const each of [kv, await kv.crash(() => false)]) {
    expect([await countOf(each, ROWS), await countOf(each, TRASH_ROWS)]).toEqual([0, 0]);
    expect(await each.historySize(GROUP)).toBe(0);
  }
});
