// Goal: waiting reads are limited in number, a group has few read requests in progress, and every read is answered.
// Method: three nodes with an isolated leader; the parts alone.
import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import { GroupReads } from '../../../src/cluster/group/group-reads.ts';
import { startTrio, type Trio } from '../../support/cluster/replica-world.ts';

/** `most`: maximum number of reads for which the leader waited for a quorum at a time. */
async function started(pendingReadsMax: number): Promise<Trio & { readonly most: () => number }> {
  let most = 0;
  const trio = await startTrio({
    limits: { pendingReadsMax },
    stepped: (_node, _input, { state }) => {
      if (state.role.kind === 'leader') most = Math.max(most, state.role.reads.length);
    },
  });
  return { ...trio, most: () => most };
}

it('reads of a group without a quorum share a limited number of requests, and are all answered when a quorum returns', async () => {
  const { world, group, leader, most } = await started(10_000);
  for (const other of world.up) if (other !== leader) world.network.cut(leader.node, other.node);
  const asked: Promise<number>[] = [];
  for (let turn = 0; turn < 100; turn++) {
    asked.push(leader.front.latest(group));
    // Each read has its own turn.
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(most()).toBe(64);
  world.network.heal();
  expect(new Set(await world.answer(Promise.all(asked)))).toEqual(new Set([0]));
  expect(world.failures).toEqual([]);
});

describe('the waiting reads of a group', () => {
  const at = (index: number): Parameters<GroupReads['park']>[0] => ({
    tokens: [index, index + 1000],
    index: toLogIndex(index),
    term: toTerm(1),
    sinceMs: index,
  });

  it('are counted in every state', () => {
    const reads = new GroupReads();
    reads.wait([1, 2, 3], 0);
    expect(reads.count).toBe(3);
    const id = reads.ask(reads.takeWaiting());
    expect(reads.count).toBe(3);
    expect(reads.answered(id)).toEqual([1, 2, 3]);
    expect(reads.answered(id)).toEqual([]);
    expect(reads.count).toBe(0);
    for (const index of [5, 3, 9]) reads.park(at(index));
    expect(reads.count).toBe(6);
    expect(reads.takeApplied(toLogIndex(2))).toEqual([]);
    expect(reads.takeApplied(toLogIndex(5))).toEqual([at(5), at(3)]);
    expect(reads.takeLate(8)).toEqual([]);
    expect(reads.count).toBe(2);
    reads.wait([7], 9);
    expect(reads.takeLate(9)).toEqual([7, 9, 1009]);
    expect(reads.count).toBe(0);
    reads.park(at(4));
    reads.ask([1]);
    expect(reads.abandon()).toEqual([4, 1004, 1]);
    expect(reads.count).toBe(0);
  });
});
