// Goal: a learner that fails for ever holds back no upgrade, repair or scale of the voters (KC14). Method: runs against
// the models in which a learner never recovers; and random worlds, whose plan for the voters must not change when their
// learners do.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import { plan } from '../../../operator/src/cluster/plan.ts';
import type { Json } from '../../support/kube-api/store.ts';
import { runs } from '../../support/runs.ts';
import { disturb } from './model/disturbances.ts';
import { type Item, setOf } from './model/items.ts';
import { LEARNERS, NAME } from './model/kube.ts';
import { Run, textOf } from './model/run.ts';
import { AGO, type Change, withDescribed, withEach, withSpec } from './worlds.ts';

const STEPS = 1_500;
const LEARNER = `${LEARNERS}-1`;

function nodeOf(run: Run, pod: string): string {
  return run.kube.get('pods', pod)?.spec.nodeName ?? '';
}

/** Returns true when the voters are as many as they should be, and run with the spec. */
function hasVoters(run: Run): boolean {
  const { replicas, version, restartKey } = run.cluster?.spec ?? {};
  const pods = run.kube.list('pods').filter(({ metadata }) => setOf(metadata.name) === NAME);
  const isCurrent = pods.every(({ metadata: { name, annotations, deletionTimestamp }, spec }) => {
    const isOf = spec.release === version && annotations['cairn.dev/restart-key'] === restartKey;
    return isOf && deletionTimestamp === undefined && run.cairn.isReady(name);
  });
  return isCurrent && pods.length === replicas && run.cairn.voters.size === replicas;
}

/** Faults that last. */
const FAULTS: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
  'cannot be scheduled': async (run) => {
    run.edit({ learners: 8 });
    await run.until(() => run.kube.get('pods', `${LEARNERS}-7`) !== undefined, STEPS);
  },
  'cannot start, because its disk is full': async (run) => {
    const volume = run.cairn.processes.get(LEARNER)?.volume;
    if (volume !== undefined) volume.usedGi = 20;
    run.kube.needsRoom = true;
    run.kube.crash(LEARNER);
  },
  'hangs after its removal, and comes again': async (run) => {
    const isRemoved = (): boolean => run.kube.get('statefulsets', LEARNERS)?.spec.replicas === 1;
    run.kube.hung.add(LEARNER);
    run.edit({ learners: 1 });
    expect(await run.until(isRemoved, STEPS)).toBe(true);
    run.edit({ learners: 2 });
    const claim = (): Item | undefined => run.kube.get('persistentvolumeclaims', `data-${LEARNER}`);
    await run.until(() => claim()?.metadata.deletionTimestamp !== undefined, STEPS);
  },
};

const CHANGES: Readonly<Record<string, (run: Run) => void>> = {
  'a restart': (run) => void run.edit({ restartKey: 'again' }),
  'an upgrade': (run) => void run.edit({ version: '0.2.0' }),
  'more voters': (run) => void run.edit({ replicas: 5 }),
  'fewer voters': (run) => void run.edit({ replicas: 1 }),
  'a repair': (run) => {
    run.kube.loseNode(nodeOf(run, 'shop-1'));
    run.kube.setNode('node-9', true);
  },
};

const CASES = Object.keys(FAULTS).flatMap((fault) => Object.keys(CHANGES).map((change) => [change, fault] as const));

it.each(CASES)('%s of the voters ends while a learner %s (KC14)', async (change, fault) => {
  const run = new Run(1, { learners: 2 });
  expect(await run.until(() => run.isStable, STEPS)).toBe(true);
  await FAULTS[fault]?.(run);
  CHANGES[change]?.(run);
  const isDone = await run.until(() => hasVoters(run), STEPS);
  expect([run.safety.violations, isDone ? 'done' : run.log.slice(-20)]).toEqual([[], 'done']);
  expect(run.isStable).toBe(false);
});

const ofEach =
  (list: 'pods' | 'claims', patch: Json): Change =>
  (world) =>
    [0, 1].reduce((changed, at) => withEach(list, `${LEARNERS}-${at}`, patch)(changed), world);
const described = (patch: Json): Change => {
  const change = withDescribed('nodes', (node) => (node['isLearner'] === true ? { ...node, ...patch } : node));
  return (world) => (world.description === undefined ? world : change(world));
};

const unready = { type: 'Ready', status: 'False', lastTransitionTime: AGO };
const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };

/** Changes of the learners of a world, and of nothing else. */
const OF_LEARNERS: readonly Change[] = [
  described({ answers: false }),
  described({ isDraining: true }),
  described({ state: 'leaving' }),
  described({ state: 'removed' }),
  ofEach('pods', { metadata: { deletionTimestamp: AGO } }),
  ofEach('pods', { metadata: { annotations: null } }),
  ofEach('pods', { status: { conditions: [unready] } }),
  ofEach('pods', { spec: { nodeName: null }, status: { conditions: [unready, unscheduled] } }),
  ofEach('claims', { metadata: { deletionTimestamp: AGO } }),
  ofEach('claims', { metadata: { labels: { 'cairn.dev/released': '4' } } }),
  ofEach('claims', { metadata: { annotations: { 'cairn.dev/retiring': '4' } } }),
  ofEach('claims', { metadata: { annotations: { 'cairn.dev/lost-since': AGO } } }),
  withSpec({ learners: 1 }),
  withSpec({ learners: 3 }),
];

/** The plan without actions and waits for learners, and without the end of an upgrade, which needs all nodes. */
function planForVoters(world: World): readonly string[] {
  return plan(world)
    .filter(({ kind }) => kind !== 'finalize' && kind !== 'record')
    .map(textOf)
    .filter((text) => !text.includes(LEARNERS) && !text.includes('isLearner'));
}

it('the plan for the voters of a random world is the same whatever its learners do (KC14)', async () => {
  const changes = fc.array(fc.nat(OF_LEARNERS.length - 1), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(changes, { minLength: 12, maxLength: 12 }), async (seed, drawn) => {
      const run = new Run(seed, { learners: 2 });
      await run.until(() => run.isStable, STEPS);
      for (const chosen of drawn) {
        disturb(run);
        await run.until(() => false, run.runtime.chance.below(60));
        const world = await run.world();
        if (run.cluster?.status.recoveryStage !== undefined) continue;
        const changed = chosen.reduce((found, at) => OF_LEARNERS[at]?.(found) ?? found, world);
        expect([planForVoters(changed), run.log.slice(-5)]).toEqual([planForVoters(world), run.log.slice(-5)]);
      }
    }),
    { numRuns: runs(30) },
  );
});
