// Goal: a node whose clock differs too much from the others is detected over a network of any speed, and no other node
// is (C41). Method: clocks that exchange messages with delays; then nodes in one thread.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type NodeId, toNodeId } from '#base';
import { LIMITS } from '#cluster';
import { DatabaseReader } from '#database';
import { PeerClocks } from '../../../../src/cluster/group/peer-clocks.ts';
import type { ClockItem } from '../../../../src/cluster/peer/forward.ts';
import { nativeSha256 } from '../../../../src/cluster/system-ports.ts';
import { joinedWorld } from '../../../support/cluster/kept-world.ts';
import { reasonOf } from '../../../support/cluster/outcomes.ts';
import { ReplicaWorld, startTrio, type WorldNode } from '../../../support/cluster/replica-world.ts';

const YEARS_MS = 10 * 365 * 86_400_000;

/**
 * Nodes whose clocks differ from the true time by the given milliseconds. Messages have given delays in each direction.
 */
class Clocks {
  readonly aheadMs: number[];
  wayMs: readonly [number, number];
  nowMs = 1_000_000_000;
  readonly #all: readonly PeerClocks[];
  #due: { readonly atMs: number; readonly work: () => void }[] = [];

  constructor(aheadMs: readonly number[], wayMs: readonly [number, number] = [1, 1]) {
    this.aheadMs = [...aheadMs];
    this.wayMs = wayMs;
    this.#all = aheadMs.map((_, at) => {
      const others = aheadMs.flatMap((_each, other) => (other === at ? [] : [toNodeId(other + 1)]));
      const post = (to: NodeId, item: ClockItem): void => {
        const delayMs = this.wayMs[item.kind === 'clock-ask' ? 0 : 1];
        this.#due.push({ atMs: this.nowMs + delayMs, work: () => this.at(to - 1).heard(toNodeId(at + 1), item) });
      };
      const clock = { nowMs: () => this.nowMs + (this.aheadMs[at] ?? 0) };
      return new PeerClocks({
        limits: LIMITS,
        clock,
        monotonicMs: () => this.nowMs - 900_000_000,
        others: () => others,
        post,
      });
    });
  }

  at(place: number): PeerClocks {
    const found = this.#all[place];
    if (found === undefined) throw new Error(`There is no clock ${place}`);
    return found;
  }

  pass(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; this.nowMs += 1) {
      const due = this.#due.filter(({ atMs }) => atMs <= this.nowMs);
      this.#due = this.#due.filter(({ atMs }) => atMs > this.nowMs);
      for (const { work } of due) work();
      if (this.nowMs % 50 === 0) for (const each of this.#all) each.tick(this.nowMs - 900_000_000);
    }
  }

  get far(): readonly number[] {
    return this.#all.flatMap((each, at) => (each.farMs === undefined ? [] : [at]));
  }
}

describe('the clock of a node', () => {
  it.each<[string, readonly number[], readonly number[]]>([
    ['alone', [YEARS_MS], []],
    ['all within the bound', [0, 1900, -1900], []],
    ['one ahead', [YEARS_MS, 0, 40], [0]],
    ['one behind', [0, -3000, 40], [1]],
    ['none like another', [0, 3000, -3000], [1, 2]],
    ['one of two: the one that is ahead', [YEARS_MS, 0], [0]],
    ['two and two: those that are ahead', [0, 3000, 0, 3000], [1, 3]],
    ['two of five', [0, 9000, 10, -9000, 20], [1, 3]],
  ])('is reported only when it differs from the majority: %s', (_name, aheadMs, far) => {
    const clocks = new Clocks(aheadMs);
    clocks.pass(1_200);
    expect(clocks.far).toEqual(far);
  });

  it.each<[string, readonly number[], [number, number], readonly number[]]>([
    ['messages there are fast, and those back slow', [1_900, 0, 0], [0, 900], []],
    ['messages there are slow, and those back fast', [1_900, 0, 0], [900, 0], []],
    ['both are slow, and a clock is years off', [0, YEARS_MS, 0], [450, 450], [1]],
  ])('is not reported because of a slow network: %s', (_name, aheadMs, wayMs, far) => {
    const clocks = new Clocks(aheadMs, wayMs);
    clocks.pass(20_000);
    expect(clocks.far).toEqual(far);
  });

  it('is reported at once when it is set, until it is well within the limit again', () => {
    const clocks = new Clocks([0, 0, 0]);
    clocks.pass(1_200);
    clocks.aheadMs[0] = 2_500;
    expect(clocks.far).toEqual([0]);
    clocks.aheadMs[0] = 1_500;
    expect(clocks.far).toEqual([0]);
    clocks.aheadMs[0] = 900;
    expect(clocks.far).toEqual([]);
    clocks.pass(100);
    expect(clocks.at(0).standing.jumpedMs).toBe(0);
    clocks.aheadMs[0] = YEARS_MS;
    clocks.pass(100);
    expect(clocks.at(0).standing.jumpedMs).toBe(YEARS_MS - 900);
  });

  it('is measured again within a second when the clock of a peer is set, also over a slower network', () => {
    const clocks = new Clocks([0, YEARS_MS, YEARS_MS]);
    clocks.pass(1_200);
    expect(clocks.far).toEqual([0]);
    clocks.aheadMs.fill(0);
    clocks.wayMs = [100, 100];
    clocks.pass(1_300);
    expect(clocks.far).toEqual([]);
  });

  it('is not compared with an answer that was not requested', () => {
    const clocks = new Clocks([0, 0, 0]);
    clocks.pass(1_200);
    for (const peer of [2, 3]) {
      clocks.at(0).heard(toNodeId(peer), { kind: 'clock-told', askedMs: 1, wallMs: 5 * YEARS_MS });
    }
    expect(clocks.far).toEqual([]);
  });
});

function recordedMs({ kv }: WorldNode, group: Parameters<WorldNode['leads']>[0]): number {
  return new DatabaseReader({ kv, group, sha256: nativeSha256 }).applied()?.recordedTimeMs ?? 0;
}

describe('a leader whose clock is set years ahead (C41)', () => {
  it('gives no times, transfers its leaderships, and gets none until its clock is right', async () => {
    const { world, group, leader } = await startTrio();
    await world.answer(leader.transact(group, 'before'));
    await world.pass(2_000);
    leader.clockAheadMs = YEARS_MS;
    expect(await world.answer(leader.transact(group, 'at once'))).toMatchObject({ kind: 'committed' });
    await world.until(() => !leader.leads(group) && !leader.leads(CATALOG_GROUP), 'another leader');
    for (const text of ['a', 'b']) await world.answer(leader.transact(group, text));
    const { binding } = await world.answer(leader.front.createDatabase('books'));
    await world.pass(10_000);
    expect(binding.createdAtMs).toBeLessThan(world.nowMs);
    expect([leader.leads(group), leader.leads(binding.group)]).toEqual([false, false]);
    expect(recordedMs(leader, group)).toBeLessThan(world.nowMs);
    const next = await world.leader(group);
    leader.clockAheadMs = 0;
    await world.pass(3_000);
    await next.crash();
    await world.until(() => world.leaderOf(group) !== undefined, 'a leader of the two');
    expect(await world.answer(leader.transact(group, 'after'))).toMatchObject({ kind: 'committed' });
    expect(world.failures).toEqual([]);
  });

  it('gets no leadership back from a cluster that balances leaderships', async () => {
    const world = await joinedWorld(3);
    const { group } = await world.create();
    await world.pass(60_000);
    const leader = await world.leader(group);
    leader.clockAheadMs = YEARS_MS;
    await world.until(() => !leader.leads(group), 'another leader');
    await world.pass(5_000);
    const { term } = leader.core.levels;
    await world.pass(90_000);
    expect(leader.core.levels.term).toBe(term);
    leader.clockAheadMs = 0;
    await world.until(() => leader.leads(group), 'the lead that is meant for it', 90_000);
  });

  it('refuses requests that need a time when no node takes the leadership', async () => {
    const { world, group, leader, catalog } = await startTrio();
    await world.pass(2_000);
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'timeout-now';
    for (const each of new Set([leader, catalog])) each.clockAheadMs = each === leader ? YEARS_MS : 2 * YEARS_MS;
    expect(await world.answer(reasonOf(leader.transact(group, 'a')))).toBe('ClockSkewed');
    expect(await world.answer(reasonOf(catalog.front.createDatabase('books')))).toBe('ClockSkewed');
    expect(await world.answer(reasonOf(catalog.front.deleteDatabase('shop')))).toBe('answered');
  });

  it('names databases whose recorded times are ahead of the clock when a single node has written them', async () => {
    const world = await ReplicaWorld.started(1);
    const node = world.at(toNodeId(1));
    const { group } = await world.create();
    node.clockAheadMs = YEARS_MS;
    await world.answer(node.transact(group, 'too early'));
    await world.pass(100);
    expect(node.core.health).toMatchObject({ clock: { jumpedMs: YEARS_MS }, recordedAhead: undefined });
    node.clockAheadMs = 0;
    await world.answer(node.transact(group, 'later'));
    const aheadMs = recordedMs(node, group) - world.nowMs;
    expect(aheadMs).toBeGreaterThan(YEARS_MS - 1_000);
    expect(node.core.health.recordedAhead).toEqual({ count: 1, database: 'shop', aheadMs });
    expect(node.core.admin.describe().databases).toMatchObject([{ name: 'shop', recordedAheadMs: aheadMs }]);
  });
});
