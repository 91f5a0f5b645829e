// Goal: databases have the component of the source, active once all nodes can run it, under faults of both APIs and
// kills of the operator. Method: random edits of a State View, its source and its databases by a seed, and a naive
// model of Cairn whose nodes compile with a delay, or fail to.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StateView } from '../../../operator/src/api/index.ts';
import { digestOf } from '../../../operator/src/components/index.ts';
import { EVERY_FAULT } from '../../support/kube-api/faults.ts';
import { ComponentWorld } from '../../support/operator/component-world.ts';
import { reasonsOf } from '../../support/operator/database-world.ts';
import { BAD } from '../../support/operator/naive-components.ts';
import { runs } from '../../support/runs.ts';

const WASM = ['one', 'two', 'three'].map((text) => Buffer.from(text));
/** A canary with half of the databases first. */
const PERCENT = { strategy: 'Canary', steps: [{ percent: 50, observeSeconds: 60 }] };
const DATABASES = ['audit', 'ledger', 'shop'];

function idOf(database: string) {
  return { database, kind: 'StateView', name: 'view' } as const;
}

function disturb(world: ComponentWorld): void {
  const { runtime, cairn, components } = world;
  const { chance } = runtime;
  const database = chance.pick(DATABASES);
  const roll = chance.below(10);
  if (roll < 3) world.provide(chance.pick([...WASM, BAD]));
  else if (roll === 3) world.change('view', { description: chance.pick(['a', 'b', null]) });
  else if (roll === 4) world.change('view', { active: chance.chance(70), maintenance: chance.pick(['Lazy', 'Eager']) });
  else if (roll === 5)
    world.change('view', {
      retainVersions: chance.pick([0, 1, null]),
      rollout: chance.pick([{ strategy: 'All' }, PERCENT]),
    });
  else if (roll === 6) cairn.isDown = !cairn.isDown;
  else if (roll === 7) {
    const { version } = components.of(idOf(database)).at(-1) ?? {};
    if (version !== undefined)
      components.set(idOf(database), version, { isActive: chance.chance(50) && !hasBad(world) });
  } else if (roll === 8) world.setCluster(chance.pick(['True', 'False']));
  else components.versions.delete(`${database} StateView view`);
}

function hasBad({ components }: ComponentWorld): boolean {
  return components.nodes.some(({ refused }) => refused.size > 0);
}

/** The active version in each database. */
function activeIn({ components }: ComponentWorld): readonly number[] {
  return DATABASES.map((name) => components.of(idOf(name)).findLast(({ isActive }) => isActive)?.version ?? 0);
}

/** Expected state of the last component in a database. */
function judge(world: ComponentWorld, wasm: Buffer): void {
  const { spec, status, metadata } = world.view('view') as StateView;
  const { Ready: ready } = world.reasons;
  expect([status?.observedGeneration, status?.digest]).toEqual([metadata.generation, digestOf(wasm)]);
  expect(ready).toBe(wasm.equals(BAD) && spec.active ? 'Refused' : 'Active');
  for (const database of DATABASES) {
    const versions = world.components.of(idOf(database));
    const own = versions.findLast(
      ({ digest, publication }) =>
        digest === digestOf(wasm) &&
        ('description' in publication ? publication.description : '') === (spec.description ?? ''),
    );
    const isWanted = spec.active && !wasm.equals(BAD);
    expect([own?.isActive ?? false, isWanted ? own?.maintenance : spec.maintenance]).toEqual([
      isWanted,
      spec.maintenance,
    ]);
    const { version = 0 } = own ?? {};
    const newer = versions.filter((one) => one.isActive && one.version > version);
    const older = versions.filter((one) => one.version < version);
    expect(ready === 'Active' ? [newer.length, older.length <= (spec.retainVersions ?? 1000)] : [0, true]).toEqual([
      0,
      true,
    ]);
  }
}

it('components converge under faults and kills, and are active only when every node can run them (KP1, KP2, KP4)', async () => {
  const property = fc.asyncProperty(fc.nat(), async (seed) => {
    const world = new ComponentWorld(seed, EVERY_FAULT);
    const { runtime, components } = world;
    world.begin(DATABASES).killAfter(0);
    await world.trouble({ steps: 30, faultPercent: 10, writesMax: 8 }, () => disturb(world));
    const last = runtime.chance.pick([...WASM, BAD]);
    world.provide(last);
    const operator = world.start();
    await runtime.advance(1_800_000);
    expect(components.faults).toEqual([]);
    judge(world, last);
    expect(await world.writesWithin(3_600_000)).toEqual([]);
    operator.killAfter(0);
  });
  await fc.assert(property, { numRuns: runs(60), endOnFailure: true });
});

const CANARY = {
  strategy: 'Canary',
  timeoutSeconds: 60,
  steps: [
    { selector: { matchLabels: { stage: 'canary' } }, observeSeconds: 600 },
    { percent: 33, observeSeconds: 300 },
  ],
};

it('a canary is observed before the next databases get the version, and a failing one goes no further (KP1, KP6)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  world.begin(DATABASES);
  await runtime.advance(60_000);
  world.change('view', { rollout: CANARY });
  await runtime.advance(5_000);
  const roll = async (wasm: Buffer): Promise<void> => {
    world.provide(wasm);
    world.change('view', { description: wasm.toString() });
    await runtime.advance(60_000);
  };
  const step = (): unknown => [world.view('view')?.status?.step, ...activeIn(world)];
  await roll(Buffer.from('two'));
  expect(step()).toEqual([1, 1, 1, 2]);
  await runtime.advance(480_000);
  expect(step()).toEqual([1, 1, 1, 2]);
  await runtime.advance(120_000);
  expect(step()).toEqual([2, 2, 1, 2]);
  await runtime.advance(400_000);
  expect(step()).toEqual([undefined, 2, 2, 2]);
  await roll(BAD);
  await runtime.advance(3_600_000);
  expect(step()).toEqual([1, 2, 2, 2]);
  expect(world.reasons['Distributed']).toBe('Refused');
  expect([components.of(idOf('audit')), components.of(idOf('shop'))].map(({ length }) => length)).toEqual([2, 3]);
  await roll(Buffer.from('two'));
  expect(step()).toEqual([undefined, 2, 2, 2]);
  await roll(Buffer.from('three'));
  await runtime.advance(600_000);
  expect(step()).toEqual([2, 3, 2, 4]);
  await roll(Buffer.from('four'));
  expect(step()).toEqual([1, 3, 2, 5]);
});

it('a rollout is reported as stuck while nodes do not compile, and continues when they do (KP1)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  components.isCompiling = false;
  world.begin(['shop']);
  await runtime.advance(50_000);
  expect(world.reasons['Progressing']).toBe('RollingOut');
  await runtime.advance(30_000);
  expect(world.reasons['Progressing']).toBe('RolloutStuck');
  components.isCompiling = true;
  components.compile(digestOf(Buffer.from('one')), false);
  // A rollout that is stuck causes only the regular checks.
  await runtime.advance(400_000);
  expect(world.reasons['Progressing']).toBe('RolloutComplete');
});

const NO_CALLS = { answered: 0, failed: 0, trapped: 0, within: new Map<number, number>() };
const LIMITS = { maxTraps: 0, maxErrorPercent: 10 };

/** A canary of `two` in one of three databases that have `one`. Each has an active version at all times (KP7). */
async function canaryOf(onFailure: string) {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  const operator = world.begin(DATABASES, { rollout: { strategy: 'All', timeoutSeconds: 60 }, retainVersions: 0 });
  await runtime.advance(60_000);
  const calls = (text: string, change: object): void =>
    void components.calls.set(digestOf(Buffer.from(text)), { ...NO_CALLS, ...change });
  const roll = (text: string): void => {
    world.provide(Buffer.from(text));
    world.change('view', { description: text, rollout: { ...CANARY, analysis: { ...LIMITS, onFailure } } });
  };
  const active = (): readonly number[] => activeIn(world);
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await runtime.advance(1_000);
      expect(active()).not.toContain(0);
    }
  };
  const reasons = (): object => world.reasons;
  roll('two');
  await advance(60_000);
  expect([active(), reasons()]).toMatchObject([[1, 1, 2], { Healthy: 'NotMeasured', Progressing: 'Observing' }]);
  calls('two', { answered: 10 });
  await advance(60_000);
  expect([active(), reasons()]).toMatchObject([[1, 1, 2], { Healthy: 'WithinLimits', Progressing: 'Observing' }]);
  return { world, operator, calls, roll, active, advance, reasons };
}

it('a canary that exceeds a limit is rolled back, and stays so until the source changes (KP7)', async () => {
  const { world, operator, calls, roll, active, advance, reasons } = await canaryOf('RollBack');
  calls('two', { answered: 100, trapped: 1 });
  for (let seconds = 0; seconds < 60 && active()[2] === 2; seconds += 1) await advance(1_000);
  // Nodes that restart count from zero.
  calls('two', { answered: 10 });
  await advance(60_000);
  expect(active()).toEqual([1, 1, 1]);
  expect(reasons()).toMatchObject({ Healthy: 'LimitExceeded', Progressing: 'RolledBack', Ready: 'RolledBack' });
  operator.killAfter(0);
  world.start();
  expect([await world.writesWithin(3_600_000), active()]).toEqual([[], [1, 1, 1]]);
  calls('three', { answered: 90, failed: 10 });
  roll('three');
  await advance(1_500_000);
  expect([active(), reasons()]).toMatchObject([[2, 2, 3], { Healthy: 'RolloutComplete', Ready: 'Active' }]);
});

it('a canary that exceeds a limit stops at its step with onFailure Pause (KP7)', async () => {
  const { calls, active, advance, reasons } = await canaryOf('Pause');
  calls('two', { answered: 80, failed: 20 });
  await advance(3_600_000);
  expect([active(), reasons()]).toMatchObject([[1, 1, 2], { Healthy: 'LimitExceeded', Ready: 'RolloutPaused' }]);
});

it('limits that are not measured keep a canary at its step (KP6)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  const steps = [{ percent: 34, observeSeconds: 0 }];
  world.begin(DATABASES, { rollout: { ...CANARY, steps, analysis: { maxTraps: 0 } } });
  await runtime.advance(3_600_000);
  expect(DATABASES.map((name) => components.of(idOf(name)).length)).toEqual([1, 1, 0]);
  expect(world.reasons['Healthy']).toBe('NotMeasured');
});

it('a database that refuses a publication does not hold up the others (KP2)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  components.refusing.add('audit');
  world.begin(DATABASES);
  await runtime.advance(120_000);
  expect(DATABASES.map((name) => components.of(idOf(name))[0]?.isActive)).toEqual([undefined, true, true]);
  expect(world.reasons['Ready']).toBe('Failed');
  expect(world.view('view')?.status?.databases?.[0]?.message).toBe('naive: RESOURCE_EXHAUSTED');
  components.refusing.clear();
  // Nodes had more time than the rollout allows, so only the regular checks find what they compile.
  await runtime.advance(600_000);
  expect(world.view('view')?.status?.databasesReady).toBe(3);
});

it('the older of two resources with one component keeps it, and the younger one takes over when it is deleted (KP1)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  world.begin(['shop'], { contentType: 'text/html' });
  await runtime.advance(60_000);
  world.publish('second', { name: 'view' });
  await runtime.advance(60_000);
  expect(components.of(idOf('shop'))).toMatchObject([{ version: 1, isActive: true }]);
  const ready = (): string | undefined => reasonsOf(world.view('second'))['Ready'];
  expect(ready()).toBe('DatabaseNotReady');
  world.withdraw('view');
  await runtime.advance(400_000);
  expect(components.of(idOf('shop'))).toMatchObject([{ version: 1 }, { version: 2, isActive: true }]);
  expect(ready()).toBe('Active');
});

it('a rollout reports its progress, goes back to an existing version, and deletes by policy (KP2, KP4)', async () => {
  const world = new ComponentWorld(1);
  const { runtime, components } = world;
  const operator = world.begin(['shop'], { reclaimPolicy: 'Delete' });
  await runtime.advance(3_000);
  expect(world.reasons).toMatchObject({
    SourceReady: 'Resolved',
    Published: 'Published',
    Distributed: 'Compiling',
    Progressing: 'RollingOut',
  });
  expect(components.of(idOf('shop'))).toMatchObject([{ version: 1, isActive: false }]);
  await runtime.advance(60_000);
  expect(world.reasons).toMatchObject({ Distributed: 'Compiled', Progressing: 'RolloutComplete', Ready: 'Active' });
  expect(world.view('view')?.status?.databases).toMatchObject([
    { name: 'shop', version: 1, nodesReady: 3, nodesTotal: 3 },
  ]);
  for (const text of ['two', 'one']) {
    world.provide(Buffer.from(text));
    // A ConfigMap is read at the next regular check.
    await runtime.advance(400_000);
  }
  expect(components.of(idOf('shop')).map(({ version, isActive }) => [version, isActive])).toEqual([
    [1, true],
    [2, false],
  ]);
  operator.killAfter(0);
  const { sent } = components;
  world.start();
  await runtime.advance(60_000);
  // The status has the published version.
  expect(components.sent).toBe(sent);
  world.withdraw('view');
  await runtime.advance(60_000);
  expect([world.view('view'), components.of(idOf('shop'))]).toEqual([undefined, []]);
});
