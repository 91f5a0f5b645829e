// Goal: a start does not wait for the disk once for each of many databases. Method: a store that counts the histories
// which it cuts at the same time.
import { expect, it } from 'vitest';
import { type GroupId, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import type { RecoveredGroup } from '#storage';
import { recoverDatabases } from '../../../../src/cluster/core/crash-recovery.ts';
import { databaseMachines } from '../../../../src/cluster/database-machines.ts';
import { memoryKv } from '../../../support/memory-kv.ts';
import { withMethods } from '../../../support/with-methods.ts';

const MARK = { index: toLogIndex(3), term: toTerm(1), revision: toRevision(2), logStart: toLogIndex(0), end: 100 };

function recovered(group: GroupId): RecoveredGroup {
  return { group, hardState: { term: toTerm(1), vote: 0 }, checkpoint: MARK, entries: [] };
}

it('cuts eight histories at a time, whichever databases they are of', async () => {
  const groups = Array.from({ length: 40 }, (_, number) => toGroupId(number + 100));
  const cut: GroupId[] = [];
  let [running, most] = [0, 0];
  const kv = withMethods(memoryKv(), {
    cutHistory: async (group, position) => {
      cut.push(group);
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return position;
    },
  });
  const machines = withMethods(databaseMachines, { markOf: () => MARK });
  const log = { groups: new Map(groups.map((group) => [group, recovered(group)])), tombstones: new Set<GroupId>() };
  const syncStore = async (): Promise<void> => undefined;
  const plan = await recoverDatabases({ kv, machines, syncStore }, log, (group) => group !== groups[0]);
  expect(plan).toEqual({ behind: [], orphans: [groups[0]], ahead: [], restarts: [] });
  expect(cut).toEqual(groups.slice(1));
  expect(most).toBe(8);
});
