// Goal: learners join, are replaced and leave, and what happens to them never delays a repair or a removal of voters.
// Method: plans of worlds that differ in a few things, and runs against the models, as in plan.test.ts and
// simulation.test.ts.
import { beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import type { Json } from '../../support/kube-api/store.ts';
import { setOf } from './model/items.ts';
import { type Edit, Run } from './model/run.ts';
import {
  AGO,
  type Change,
  convergedWorld,
  draining,
  type Example,
  held,
  planned,
  recovered,
  silent,
  unanswered,
  unconfirmed,
  unreadySince,
  withClaim,
  withDescribed,
  withEach,
  withFields,
  withNode,
  withReplicas,
  withSpec,
} from './worlds.ts';

const STEPS = 900;

const outdated = withEach('pods', '', { metadata: { annotations: null } });
const withLearners = (learners: number): Change => withSpec({ learners });
const described = (name: string, patch: Json): Change =>
  withDescribed('nodes', (node) => (node['name'] === name ? { ...node, ...patch } : node));
const silentLearner = (at: number): Change => described(`shop-learners-${at}`, { answers: false });
const quiet = silentLearner(0);
const withoutKubeNodes: Change = (world) => ({ ...world, kubeNodes: new Map() });
const lost = (pod: string): Change[] => [
  unreadySince(pod, AGO),
  described(pod, { answers: false }),
  withoutKubeNodes,
  withClaim(pod, { annotations: { 'cairn.dev/lost-since': AGO } }),
];
const removed = described('shop-learners-1', { state: 'removed' });
const released = withClaim('shop-learners-1', { labels: { 'cairn.dev/released': '5' } });
const replaced =
  (pod: string): Change =>
  (world) => {
    const nodes = world.description?.nodes ?? [];
    const further = nodes.filter(({ name }) => name === pod).map((node) => ({ ...node, id: 9 }));
    return withFields({ description: { nodes: [...nodes.map((node) => ({ ...node })), ...further] } })(world);
  };
const withoutSet: Change[] = [
  withFields({ sets: { learners: null } }),
  (world) => ({ ...world, isApplied: ({ metadata }) => metadata.name !== 'shop-learners' }),
];

/** The cluster has three voters, and two learners in shop-learners-0 and shop-learners-1. */
const EXAMPLES: readonly Example[] = [
  ['nothing', [], /^$/, 'Stable', 'Converged', 'AllNodesReady'],
  ['outdated pods', [outdated], /^patch shop-\d .*draining-since.*, drain \d \(shop-\d\), delete Pod shop-learners-1/],
  ['outdated pods, a silent learner', [outdated, quiet], /^patch shop-\d .*, drain \d \(shop-\d\), wait .*not answer/],
  [
    'outdated pods, a silent voter',
    [outdated, silent(2)],
    /^wait .*not answer.*, wait .*shop-learners-1 is not replaced/,
  ],
  [
    'outdated pods, a drain',
    [outdated, ...draining, withNode(1, { movableLeads: 0 })],
    /^delete Pod shop-0: .* shop-0 shop-1 shop-2, wait .*shop-learners-1 is not replaced yet: .*drained$/,
  ],
  [
    'outdated learners',
    [withEach('pods', 'shop-learners-0', { metadata: { annotations: null } })],
    /^delete Pod shop-learners-0: .* shop-0 shop-1 shop-2 shop-learners-0 shop-learners-1$/,
  ],
  [
    'outdated learners, a silent one',
    [withEach('pods', 'shop-learners-0', { metadata: { annotations: null } }), silentLearner(1)],
    /^wait pod shop-learners-0 is not replaced yet: .*not answer$/,
  ],
  [
    'a lost voter, a silent learner',
    [...lost('shop-1'), quiet],
    /^delete \w+Claim data-shop-1: .* !shop-1 shop-0 shop-2 !node$/,
  ],
  ['fewer voters, a silent learner', [withReplicas(1), quiet], /^patch data-shop-2 .*retiring":"3".*, decommission 3/],
  [
    'a lost learner',
    lost('shop-learners-1'),
    /^delete \w+Claim data-shop-learners-1: .* !shop-learners-1 shop-0 shop-1 shop-2 !node$/,
  ],
  [
    'a lost learner, another one that is silent',
    [...lost('shop-learners-1'), quiet],
    /^delete \w+Claim data-shop-learners-1/,
  ],
  ['a lost learner, no leader', [...lost('shop-learners-1'), unconfirmed], /^$/],
  [
    'a lost voter and a lost learner',
    [...lost('shop-learners-0'), ...lost('shop-1')],
    /^delete \w+Claim data-shop-1: /,
  ],
  [
    'a lost learner, a lagging voter, fewer voters',
    [...lost('shop-learners-0'), withReplicas(1), withNode(3, { lag: 5_000 })],
    /^patch data-shop-2 .*retiring":"3".*, decommission 3/,
  ],
  ['a learner that another one has replaced, and that answers', [replaced('shop-learners-0')], /^$/],
  [
    'a lost voter that another one has replaced, a silent learner',
    [replaced('shop-1'), silent(2), quiet],
    /^decommission 2 /,
  ],
  [
    'a lost learner that another one has replaced',
    [
      replaced('shop-learners-0'),
      withDescribed('nodes', (node) =>
        node['name'] === 'shop-learners-0' && node['id'] !== 9 ? { ...node, answers: false } : node,
      ),
    ],
    /^decommission \d \(shop-learners-0\)$/,
  ],

  [
    'fewer learners',
    [withLearners(1)],
    /^patch data-shop-learners-1 .*retiring":"\d".*, decommission \d \(shop-learners-1\)$/,
    'Scaling',
  ],
  ['fewer learners, a silent voter', [withLearners(1), silent(1)], /, decommission \d \(shop-learners-1\)$/],
  [
    'fewer voters and learners, a silent voter',
    [withReplicas(1), withLearners(1), silent(1)],
    /^wait .*not answer.*, patch data-shop-learners-1 .*, decommission \d \(shop-learners-1\)$/,
  ],
  [
    'fewer voters and learners, a learner that leaves',
    [withReplicas(1), withLearners(1), described('shop-learners-1', { state: 'leaving' })],
    /^patch data-shop-2 .*, decommission 3 \(shop-2\), wait /,
  ],
  ['fewer learners, no leader', [withLearners(1), unconfirmed], /^wait .*no leader of its catalog/],
  ['fewer learners, no answer', [withLearners(1), unanswered], /^wait .*does not answer/],
  [
    'fewer learners, one that leaves',
    [withLearners(1), described('shop-learners-1', { state: 'leaving' })],
    /^wait .*shop-learners-1\) moves its replicas/,
  ],
  ['fewer learners, a removed one', [withLearners(1), removed], /^patch data-shop-learners-1 .*released":"\d"/],
  ['fewer learners, a released claim', [withLearners(1), removed, released], /^apply .*"replicas":1,.*isLearner/],
  ['a released claim of a learner', [released], /^delete \w+Claim data-shop-learners-1: .* !shop-learners-1$/],
  [
    'a retiring learner that stays',
    [withClaim('shop-learners-1', { annotations: { 'cairn.dev/retiring': '5' } })],
    /^patch data-shop-learners-1 .*retiring":null/,
  ],
  ['no StatefulSet of learners', [held, ...withoutSet], /^apply StatefulSet {"replicas":2,.*isLearner/],
  [
    'no StatefulSet of learners, fewer of them',
    [held, withLearners(0), ...withoutSet],
    /^apply StatefulSet {"replicas":2,.*isLearner/,
  ],
  [
    'a catalog without a quorum',
    [recovered, ...[2, 3].map(silent), ...['shop-1', 'shop-2'].map((name) => unreadySince(name, AGO)), unconfirmed],
    /^record {"recoveryStage":"Stopped"} !shop-1 !shop-2$/,
  ],
];

describe('the plan for a cluster with learners', () => {
  let world: World;
  beforeAll(async () => {
    world = await convergedWorld(1, { learners: 2, 'update.stableSeconds': 0 });
  });

  const rows = EXAMPLES.map(([name, ...rest]) => [name, rest] as const);

  it.each(rows)('%s (KC1, KC3, KC4, KC12, KC14)', (_name, [changes, expected, ...reasons]) => {
    const [actions, found] = planned(world, changes);
    expect(actions).toMatch(expected);
    expect(found).toEqual(expect.arrayContaining(reasons));
  });

  it('restarts the only voter without a drain', async () => {
    const alone = await convergedWorld(1, { replicas: 1, learners: 1, 'update.stableSeconds': 0 });
    const [actions] = planned(alone, [withEach('pods', 'shop-0', { metadata: { annotations: null } })]);
    expect(actions).toMatch(/^delete Pod shop-0: .* shop-0$/);
  });
});

async function converged(run: Run, edit: Edit): Promise<Run> {
  run.edit(edit);
  const generation = run.cluster?.metadata.generation;
  const isDone = await run.until(() => run.isStable && run.cluster?.status.observedGeneration === generation, STEPS);
  expect(run.safety.violations).toEqual([]);
  const seen = { conditions: run.cluster?.status?.conditions, log: run.log.slice(-30) };
  expect(isDone ? 'stable' : seen).toBe('stable');
  return run;
}

function podsOf(run: Run, set: string): readonly string[] {
  const pods = run.kube.list('pods').filter(({ metadata }) => setOf(metadata.name) === set);
  return pods.map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
}

describe('the number of learners', () => {
  it('goes from 0 to 2, 1 and 0, and no pod of a voter restarts (KC3)', async () => {
    const run = await converged(new Run(1), {});
    const voters = podsOf(run, 'shop');
    for (const learners of [2, 1, 0]) {
      await converged(run, { learners });
      // The last pod ends after its node was removed, and then the status counts it no more.
      expect(await run.until(() => run.cluster?.status.learners === learners, STEPS)).toBe(true);
      const ids = run.cairn.nodes.flatMap(({ id, isLearner, state }) => (isLearner && state === 'active' ? [id] : []));
      expect(run.cairn.databases.map((database) => [...database.learners])).toEqual(Array(3).fill(ids));
      expect(run.cluster?.status).toMatchObject({ replicas: 3, readyReplicas: 3, readyLearners: learners });
      expect(podsOf(run, 'shop-learners')).toHaveLength(learners);
    }
    expect(await run.until(() => run.kube.get('statefulsets', 'shop-learners') === undefined, STEPS)).toBe(true);
    expect([podsOf(run, 'shop'), [...run.cairn.voters]]).toEqual([voters, [1, 2, 3]]);
    const claims = run.kube.list('persistentvolumeclaims').map(({ metadata }) => metadata.name);
    expect(claims.filter((name) => name.includes('learners'))).toHaveLength(2);
    await converged(run, { learners: 1 });
  });

  it('is reached while a voter is lost', async () => {
    const run = await converged(new Run(1, { 'repair.policy': 'Manual' }), {});
    run.kube.loseNode(run.kube.get('pods', 'shop-1')?.spec.nodeName ?? '');
    run.edit({ learners: 2 });
    const count = (): number =>
      run.cairn.nodes.filter(({ isLearner, state }) => isLearner && state === 'active').length;
    expect(await run.until(() => count() === 2, STEPS)).toBe(true);
    run.edit({ learners: 0 });
    expect(await run.until(() => count() === 0 && podsOf(run, 'shop-learners').length === 0, STEPS)).toBe(true);
    expect(run.safety.violations).toEqual([]);
  });
});

it('a change of the pods reaches voters first, and no learner when one of them does not become ready (KC1)', async () => {
  const run = await converged(new Run(1), { learners: 2 });
  const deleted = (): readonly boolean[] =>
    run.log.flatMap((line) => (line.startsWith('delete Pod') ? [line.includes('learners')] : []));
  run.edit({ config: { isBad: 'yes' } });
  await run.until(() => false, 150);
  expect(deleted()).toEqual([false]);
  await converged(run, { config: {}, version: '0.2.0' });
  expect(deleted()).toEqual([false, false, false, false, true, true]);
});

it('learners begin with new volumes after a recovery of the catalog (KC12)', async () => {
  const run = await converged(new Run(1), { learners: 2 });
  const before = run.kube.get('persistentvolumeclaims', 'data-shop-learners-0')?.metadata.uid;
  for (const pod of ['shop-0', 'shop-1']) run.kube.loseNode(run.kube.get('pods', pod)?.spec.nodeName ?? '');
  for (const node of ['node-8', 'node-9']) run.kube.setNode(node, true);
  await run.until(() => run.condition('QuorumHealthy')?.reason === 'NoCatalogLeader', STEPS);
  const recovery = { id: 'one', survivor: 'shop-2', acknowledgeDataLoss: true };
  await converged(run, { recovery: { ...recovery, acceptLoss: run.cairn.codeOf(3) } });
  expect(run.cluster?.status.recoveryID).toBe('one');
  expect(run.kube.get('persistentvolumeclaims', 'data-shop-learners-0')?.metadata.uid).not.toBe(before);
  expect(run.cairn.nodes.filter(({ isLearner, state }) => isLearner && state === 'active')).toHaveLength(2);
});
