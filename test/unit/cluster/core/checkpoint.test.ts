// Goal: a checkpoint record has the state whose rows were written before its sync, with the end that the history had
// then (C7). Method: a batch that is written during the sync.
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex } from '#base';
import { LIMITS } from '#cluster';
import { NO_CHECKPOINT } from '#storage';
import { Checkpointer } from '../../../../src/cluster/core/checkpoint.ts';
import type { Group } from '../../../../src/cluster/group/group.ts';

it('a checkpoint has the end of the history as of its state, although more is written during its sync', async () => {
  let end = 0;
  const group = { id: toGroupId(1), isOpen: true, isInstalling: false, logStart: 0, written: NO_CHECKPOINT };
  const write = (index: number): void => {
    end = 100 * index;
    group.written = { ...NO_CHECKPOINT, index: toLogIndex(index) };
    checkpointer.markDirty(group as unknown as Group, 1, 0);
  };
  const records: unknown[] = [];
  const checkpointer: Checkpointer = new Checkpointer({
    limits: LIMITS,
    kv: { historyEnd: () => ({ end, crc: end + 1 }) },
    syncStore: async () => write(records.length + 2),
    feed: { checkpoint: (_, mark) => records.push(mark) },
  });
  write(1);
  await checkpointer.run();
  await checkpointer.run();
  expect(records).toEqual([
    { ...NO_CHECKPOINT, index: 1, history: { end: 100, crc: 101 } },
    { ...NO_CHECKPOINT, index: 2, history: { end: 200, crc: 201 } },
  ]);
});
