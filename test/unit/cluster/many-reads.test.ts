// Goal: waiting reads are limited in number, a group has few read requests in progress, and every read is answered,
// also when its request or the answer of the leader is lost. Method: three nodes with an isolated leader, or with lost
// messages; the parts alone.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type DatabaseError, toLogIndex, toTerm } from '#base';
import { LIMITS } from '#cluster';
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

describe('a follower', () => {
  it.each(['read-request', 'read-reply'])(
    'answers reads and knows the catalog when the first %s is lost',
    async (kind) => {
      const { world, group, leader, catalog } = await startTrio();
      const follower = world.up.find((each) => each !== leader && each !== catalog) ?? leader;
      const lost = new Set<number>();
      world.network.isHeld = (_from, _to, { group: id, message }) => {
        const isFirst = message.kind === kind && !lost.has(id);
        if (isFirst) lost.add(id);
        return isFirst;
      };
      const early = [follower.front.latest(group), follower.front.currentCatalog()];
      await world.pass(LIMITS.electionWindowMs - 100);
      // It waits for the request that was lost.
      const all = Promise.all([...early, follower.front.currentCatalog()]);
      expect(await world.answer(all)).toEqual([0, undefined, undefined]);
      expect(lost).toEqual(new Set([CATALOG_GROUP, group]));
    },
  );

  it('refuses each read that the leader has not answered in time', async () => {
    const { world, group, others } = await startTrio();
    const [{ front }] = others;
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'read-request';
    const endOf = async (read: Promise<unknown>): Promise<readonly [unknown, number]> => {
      const beganMs = world.nowMs;
      const reason = await read.catch(({ details }: DatabaseError) => details.reason);
      return [reason, Math.round((world.nowMs - beganMs) / 1000)];
    };
    const first = endOf(front.latest(group));
    await world.pass(1000);
    const second = endOf(front.latest(group));
    const refused = ['NoLeader', LIMITS.leaderWaitMs / 1000];
    expect(await world.answer(Promise.all([first, second]))).toEqual([refused, refused]);
  });
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
    const waiting = [
      { tokens: [1, 2], sinceMs: 0 },
      { tokens: [3], sinceMs: 1 },
    ];
    reads.wait(waiting);
    expect(reads.count).toBe(3);
    const id = reads.ask(reads.takeWaiting());
    expect(reads.count).toBe(3);
    expect(reads.answered(id)).toEqual(waiting);
    expect(reads.answered(id)).toEqual([]);
    expect(reads.count).toBe(0);
    for (const index of [5, 3, 9]) reads.park(at(index));
    expect(reads.count).toBe(6);
    expect(reads.takeApplied(toLogIndex(2))).toEqual([]);
    expect(reads.takeApplied(toLogIndex(5))).toEqual([at(5), at(3)]);
    expect(reads.takeLate(8)).toEqual([]);
    expect(reads.count).toBe(2);
    reads.wait([{ tokens: [7], sinceMs: 9 }]);
    expect(reads.takeLate(9)).toEqual([7, 9, 1009]);
    expect(reads.count).toBe(0);
    reads.park(at(4));
    reads.ask([{ tokens: [1], sinceMs: 0 }]);
    expect(reads.abandon()).toEqual([4, 1004, 1]);
    expect(reads.count).toBe(0);
  });
});
