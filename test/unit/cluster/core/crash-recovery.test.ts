// Goal: a start makes a history whole before it cuts the next one. Method: a store that cuts less than it should.
import { expect, it } from 'vitest';
import { type GroupId, NO_BYTES, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { HistoryFault } from '#kv';
import { NO_CHECKPOINT, type RecoveredGroup } from '#storage';
import { recoverDatabases } from '../../../../src/cluster/core/crash-recovery.ts';
import { databaseMachines } from '../../../../src/cluster/database-machines.ts';
import { bindingOn } from '../../../support/cluster/layouts.ts';
import { memoryKv } from '../../../support/memory-kv.ts';
import { withMethods } from '../../../support/with-methods.ts';

const MARK = { ...NO_CHECKPOINT, index: toLogIndex(3), term: toTerm(1), revision: toRevision(2), end: 100 };

function recovered(group: GroupId): RecoveredGroup {
  return { group, hardState: { term: toTerm(1), vote: 0 }, checkpoint: MARK, entries: [] };
}

it('withdraws a history that is not whole before the next one is cut: a rebuild syncs all that were cut', async () => {
  const groups = [100, 101, 102].map(toGroupId);
  const steps: string[] = [];
  const kv = withMethods(memoryKv(), {
    cutHistory: async (group, position) => {
      steps.push(`${group} is cut at ${position}`);
      return group === groups[1] ? position : 40;
    },
  });
  const machines = withMethods(databaseMachines, { markOf: () => MARK });
  const log = {
    groups: new Map([...groups, toGroupId(9)].map((group) => [group, recovered(group)])),
    tombstones: new Set<GroupId>(),
  };
  const held = groups.map((group) => bindingOn(group, [1]));
  const plan = await recoverDatabases({ kv, machines }, log, held, async ({ binding: { group } }) => {
    steps.push(`${group} is withdrawn`);
  });
  expect(plan).toEqual({ behind: [], orphans: [9], ahead: [], restarts: [] });
  const due = ['100 is cut at 100', '100 is withdrawn', '101 is cut at 100', '102 is cut at 100', '102 is withdrawn'];
  expect(steps).toEqual(due);
});

it('withdraws a state that lacks rows of entries after its checkpoint', async () => {
  const group = toGroupId(100);
  const entry = { index: toLogIndex(4), term: toTerm(1), payload: NO_BYTES, level: 1 };
  const withdrawn: number[] = [];
  const kv = withMethods(memoryKv(), { cutHistory: async (_group, position) => position });
  const machines = withMethods(databaseMachines, {
    markOf: () => ({ ...MARK, index: entry.index }),
    verify: async () => false,
  });
  const groups = new Map([[group, { ...recovered(group), entries: [entry] }]]);
  const log = { groups, tombstones: new Set<GroupId>() };
  await recoverDatabases({ kv, machines }, log, [bindingOn(group, [1])], async ({ binding }) => {
    withdrawn.push(binding.group);
  });
  expect(withdrawn).toEqual([group]);
});

it('whole rows stay in use after damage was noted, although their history is damaged: they could not be made again', async () => {
  const group = toGroupId(100);
  const fault = new HistoryFault(group, { from: 0, to: 40 }, { isMissing: false, text: 'a wrong checksum' });
  const kv = withMethods(memoryKv(), {
    cutHistory: async (_, position) => position,
    verifyHistory: () => Promise.reject(fault),
  });
  const machines = withMethods(databaseMachines, { markOf: () => MARK, audit: async () => undefined });
  const log = { groups: new Map([[group, recovered(group)]]), tombstones: new Set<GroupId>() };
  const withdrawn: unknown[] = [];
  await recoverDatabases({ kv, machines, isSuspect: true }, log, [bindingOn(group, [1])], async (lost) => {
    withdrawn.push(lost);
  });
  expect(withdrawn).toEqual([]);
});
