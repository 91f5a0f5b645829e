// Goal: nothing that was answered is lost, all of it can be read, nothing is applied twice, and the node starts,
// whatever a crash leaves of the log's last appends and of the store's unsynced batches. Method: random schedules of
// requests, syncs, slow writes of the store, checkpoints and crashes with holes, against a model of what was answered,
// every other answer followed by a read; then the two kinds of damage that must be refused.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GroupId, LEVELS, type Revision } from '#base';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { LossyKv } from '../../support/cluster/lossy-kv.ts';
import { databaseKit, type MachineKit, toyKit } from '../../support/cluster/machine-kit.ts';
import { MemoryLog } from '../../support/cluster/memory-log.ts';

const NAMES = ['a', 'b', 'c'] as const;

const action = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      name: fc.constantFrom(...NAMES),
      isRead: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create' as const), name: fc.constantFrom(...NAMES) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name: fc.constantFrom(...NAMES) }) },
  { weight: 16, arbitrary: fc.record({ kind: fc.constant('sync' as const), times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('store' as const), isHeld: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 300 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      torn: fc.nat(2),
      survives: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

/** Texts that were answered as committed, by group, with their revision. */
class Model {
  readonly world: CoreWorld;
  readonly faults: string[] = [];
  answeredCount = 0;
  /** Answers that came before their rows were in the store. */
  earlyCount = 0;
  readonly #answered = new Map<GroupId, Map<number, string>>();
  readonly #deleted = new Set<GroupId>();
  readonly #kit: MachineKit;
  #lastText = 0;
  #openStore: () => void = () => undefined;

  constructor(kit: MachineKit) {
    this.#kit = kit;
    this.world = new CoreWorld({ trashSliceRows: 2, writeEntries: 3 }, kit);
  }

  async run(each: Action): Promise<void> {
    const { world } = this;
    const binding = 'name' in each ? world.node.catalog.lookup(each.name) : undefined;
    if (each.kind === 'write' && binding !== undefined) this.#write(binding.group, each.isRead);
    if (each.kind === 'create') void world.node.createDatabase(each.name).catch(() => undefined);
    if (each.kind === 'delete') this.#delete(each.name);
    if (each.kind === 'sync') await this.#sync(each.times);
    if (each.kind === 'pass') world.pass(each.ms);
    if (each.kind === 'store') this.store(each.isHeld);
    if (each.kind === 'crash') await this.#crash(each);
    await settle();
    for (const { message } of world.failures) this.faults.push(message);
  }

  /** Lets the writes of the store wait from here on, or go on. */
  store(isHeld: boolean): void {
    this.#openStore();
    if (!isHeld) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.world.kv.gate = promise;
    this.#openStore = resolve;
  }

  /** Everything answered is there, once, at its revision; deleted databases are gone. */
  async check(): Promise<void> {
    const { node } = this.world;
    const known = new Map(node.catalog.list().map((binding) => [binding.group, binding]));
    for (const group of this.#deleted) if (known.has(group)) this.faults.push(`deleted group ${group} is back`);
    for (const [group, texts] of this.#answered) {
      if (this.#deleted.has(group) || !known.has(group)) continue;
      const history = await this.world.history(group);
      const isOnce = new Set(history).size === history.length;
      if (!isOnce) this.faults.push(`group ${group} has a text twice`);
      if (history.length !== node.applied(group)) this.faults.push(`group ${group} has ${history.length} revisions`);
      for (const [revision, text] of texts) {
        if (history[revision - 1] !== text) this.faults.push(`${text} of group ${group} is lost`);
      }
    }
  }

  #write(group: GroupId, isRead: boolean): void {
    this.#lastText += 1;
    const text = `text ${this.#lastText}`;
    const answer = this.world.transact(group, text).then(({ revision }) => {
      this.#answer(group, revision, text);
      return isRead ? this.#read(group, revision, text) : undefined;
    });
    void answer.catch(() => undefined);
  }

  #answer(group: GroupId, revision: Revision, text: string): void {
    const texts = this.#answered.get(group) ?? new Map<number, string>();
    this.answeredCount += 1;
    this.#answered.set(group, texts.set(revision, text));
    const { node } = this.world;
    if (node.answered(group) < revision) this.faults.push(`${text} is answered and not known as such`);
    if (node.applied(group) < revision) this.earlyCount += 1;
  }

  /** Whoever was answered reads: each way of reading shows the revision, and its rows are there. */
  async #read(group: GroupId, revision: Revision, text: string): Promise<void> {
    const { node, kv } = this.world;
    const note = async (way: string, shown: number): Promise<void> => {
      if (shown < revision) this.faults.push(`${way} shows ${shown} of group ${group} after ${revision} was answered`);
      const history = await this.#kit.history(kv, group);
      const isGone = node.answered(group) === 0;
      if (history[revision - 1] !== text && !isGone) this.faults.push(`${way} does not find ${text} of group ${group}`);
    };
    const wait = node.waitFor(group, revision, new AbortController().signal);
    await Promise.all([
      wait.then((outcome) => (outcome === 'reached' ? note('waitFor', node.applied(group)) : undefined)),
      node.latest(group).then((shown) => note('latest', shown)),
    ]);
  }

  #delete(name: string): void {
    const answer = this.world.node
      .deleteDatabase(name)
      .then((outcome) => outcome.kind === 'deleted' && this.#deleted.add(outcome.binding.group));
    void answer.catch(() => undefined);
  }

  async #sync(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      this.world.log.sync();
      await settle();
    }
  }

  async #crash({ torn, survives }: Extract<Action, { kind: 'crash' }>): Promise<void> {
    this.#openStore = () => undefined;
    await this.world.crash({ torn, survives: (unsynced) => survives[unsynced] ?? true });
    await this.check();
    this.world.log.isAutomatic = false;
  }
}

describe('crashes', () => {
  it.each([
    ['the small machines', toyKit, 60],
    ['the real machines', databaseKit, 40],
  ] as const)(
    'lose nothing that was answered, whatever they leave of log and store, with %s (C2, C7)',
    async (_, kit, numRuns) => {
      let answeredCount = 0;
      let earlyCount = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 40, maxLength: 80, size: 'max' }), async (actions) => {
          const model = new Model(kit);
          await model.world.start();
          for (const name of NAMES) await model.world.create(name);
          model.world.log.isAutomatic = false;
          for (const each of actions) await model.run(each);
          model.store(false);
          model.world.log.isAutomatic = true;
          model.world.log.sync();
          await settle();
          await model.check();
          await model.world.crash();
          await model.check();
          expect(model.faults).toEqual([]);
          answeredCount += model.answeredCount;
          earlyCount += model.earlyCount;
        }),
        { numRuns },
      );
      // The schedules were not in vain.
      expect(answeredCount).toBeGreaterThan(numRuns);
      expect(earlyCount).toBeGreaterThan(numRuns / 4);
    },
    60_000,
  );
});

describe('a delete that is in the log and not yet applied when the process dies', () => {
  it('is carried out by the next start, and ends the group once (C4)', async () => {
    const world = new CoreWorld();
    await world.start();
    const group = await world.create('shop');
    await world.transact(group, 'x');
    world.log.isAutomatic = false;
    void world.node.deleteDatabase('shop').catch(() => undefined);
    await settle();
    await world.crash({ torn: 1 });
    await settle();
    expect(world.failures).toEqual([]);
    expect(world.node.catalog.list()).toEqual([]);
    expect(world.log.durable.filter(({ kind }) => kind === 'group-tombstone')).toHaveLength(1);
  });
});

describe.each([
  ['the small machines', toyKit],
  ['the real machines', databaseKit],
] as const)('recovery with %s (C7)', (_name, kit) => {
  async function written(): Promise<{ world: CoreWorld; group: GroupId }> {
    const world = new CoreWorld({}, kit);
    await world.start();
    const group = await world.create('shop');
    await world.transact(group, 'one');
    world.pass(1000);
    await settle();
    for (const text of ['two', 'three', 'four']) await world.transact(group, text);
    expect(world.kv.unsyncedCount).toBe(3);
    return { world, group };
  }

  it('skips what the store holds when it is whole', async () => {
    const { world, group } = await written();
    const before = world.kv.writes.length;
    await world.crash();
    expect(world.node.applied(group)).toBe(4);
    // Only the catalog's new no-op is applied; the database is where it was, and stays dormant.
    expect([before > 0, world.kv.writes]).toEqual([true, [1]]);
  });

  it.each([
    ['the first', [false, true, true]],
    ['the middle', [true, false, true]],
    ['the last', [true, true, false]],
    ['every', [false, false, false]],
  ])('rebuilds and replays when %s of three batches is lost', async (_which, survives) => {
    const { world, group } = await written();
    await world.crash({ survives: (unsynced) => survives[unsynced] ?? true });
    expect(world.node.applied(group)).toBe(4);
    expect(await world.history(group)).toEqual(['one', 'two', 'three', 'four']);
    expect(await world.transact(group, 'five')).toMatchObject({ kind: 'committed', revision: 5 });
  });

  it('makes the checkpoint of a group that nobody touches any more, so that its segments can go (W12)', async () => {
    const { world, group } = await written();
    const checkpoints = (): readonly number[] =>
      world.log.durable.flatMap((each) =>
        each.kind === 'checkpoint' && each.group === group ? [each.checkpoint.revision] : [],
      );
    expect(checkpoints()).not.toContain(4);
    await world.crash();
    await settle();
    expect(checkpoints().at(-1)).toBe(4);
    const { length } = checkpoints();
    // What the checkpoint promises survives a power failure, and is not promised twice.
    await world.crash({ survives: () => false });
    await settle();
    expect(await world.history(group)).toEqual(['one', 'two', 'three', 'four']);
    expect(checkpoints()).toHaveLength(length);
  });

  it('opens only the groups that are behind, and the others when they are touched', async () => {
    const { world, group } = await written();
    const idle = await world.create('idle');
    world.pass(1000);
    await settle();
    await world.crash();
    const opened = (): Set<number> =>
      new Set(world.log.durable.slice(start).map((record) => ('group' in record ? record.group : -1)));
    const start = world.log.durable.length;
    await settle();
    expect(opened()).toEqual(new Set());
    expect(world.node.applied(group)).toBe(4);
    expect(await world.node.latest(idle)).toBe(0);
    expect(opened()).toEqual(new Set([idle]));
  });

  it('ends a group whose delete was applied but not recorded in the log', async () => {
    const { world, group } = await written();
    world.log.isAutomatic = false;
    const deleted = world.node.deleteDatabase('shop');
    await settle();
    world.log.sync();
    await deleted;
    expect(world.log.queuedCount).toBe(1);
    await world.crash();
    expect(world.log.recover().tombstones).toEqual(new Set([group]));
    expect(world.node.catalog.lookup('shop')).toBeUndefined();
  });

  it('refuses a store that is behind its checkpoint', async () => {
    const { world, group } = await written();
    const older = new CoreWorld({}, kit);
    older.kv = await world.kv.crash(() => false);
    world.pass(1000);
    await settle();
    older.log = new MemoryLog(world.log.durable);
    expect(world.log.recover().groups.get(group)?.checkpoint.revision).toBe(4);
    await expect(older.start()).rejects.toMatchObject({ details: { reason: 'StoreAndLogDisagree' } });
  });

  it('refuses a store that is ahead of the log', async () => {
    const { world } = await written();
    const older = new CoreWorld({}, kit);
    older.kv = await world.kv.crash(() => true);
    older.log = new MemoryLog(world.log.durable.filter((record) => record.kind !== 'entry' || record.index < 4));
    await expect(older.start()).rejects.toMatchObject({ details: { reason: 'StoreAndLogDisagree' } });
  });

  it('refuses a log that a later release wrote', async () => {
    const { world } = await written();
    const older = new CoreWorld({}, kit);
    older.kv = await world.kv.crash(() => true);
    older.log = new MemoryLog(
      world.log.durable.map((record) =>
        record.kind === 'entry' && record.index === 4 ? { ...record, level: LEVELS.max + 1 } : record,
      ),
    );
    await expect(older.start()).rejects.toMatchObject({ details: { reason: 'UnknownFeatureLevel' } });
  });

  it('refuses a log without its store', async () => {
    const { world } = await written();
    const empty = new CoreWorld({}, kit);
    empty.kv = new LossyKv();
    empty.log = new MemoryLog(world.log.durable);
    await expect(empty.start()).rejects.toMatchObject({ details: { reason: 'StoreAndLogDisagree' } });
  });
});
