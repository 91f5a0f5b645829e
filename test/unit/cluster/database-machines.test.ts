// Goal: a part of a history does not take the log back behind its own records. Method: one part, with each end.
import { expect, it } from 'vitest';
import { toLogIndex, toReplicaId } from '#base';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { CREATED_AT_MS, DATABASE_ID, DatabaseHost, historyFor } from '../../support/database-host.ts';
import { transactionOf } from '../../support/database-requests.ts';

it('a part of a history that ends in the log before its last record is refused', async () => {
  const one = new DatabaseHost();
  for (const id of ['a', 'b']) await one.apply(transactionOf([{ id, type: 't', source: 's', stream: 's' }]));
  await one.flush();
  const other = new DatabaseHost();
  const part = await historyFor(one, other).next(1e6);
  expect(part.last.index).toBe(2);
  const { kv, source } = other;
  const replica = toReplicaId(1);
  const binding = {
    name: 'shop',
    databaseId: DATABASE_ID,
    group: source.group,
    createdAtMs: CREATED_AT_MS,
    copies: 0,
    replicas: [replica],
    leaving: [],
    founders: [replica],
    placement: 0,
    isSettled: true,
  };
  const machine = databaseMachines.createDatabase(kv, binding);
  const taken = (index: number): unknown =>
    databaseMachines.importState(kv, source.group, machine).take({
      ...part,
      last: { ...part.last, index: toLogIndex(index) },
    });
  expect(taken(1)).toBe('It ends at entry 1 of the log, and has a record of entry 2');
  expect(taken(2)).toMatchObject({ last: part.last, basis: 0 });
});
