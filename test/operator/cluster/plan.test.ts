// Goal: the plan is empty for every converged world, and has the right actions for worlds that differ in a few things.
// Method: worlds that the simulation reaches; each row of a table changes some fields.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import { plan } from '../../../operator/src/cluster/plan.ts';
import { recheckMs } from '../../../operator/src/cluster/status.ts';
import { type Json, merged } from '../../support/kube-api/store.ts';
import { runs } from '../../support/runs.ts';
import { textOf } from './model/run.ts';
import {
  AGO,
  applied,
  type Change,
  convergedWorld,
  deleted,
  draining,
  type Example,
  held,
  marked,
  planned,
  recovered,
  released,
  retained,
  silent,
  unanswered,
  unapplied,
  unconfirmed,
  unreadySince,
  withClaim,
  withDescribed,
  withEach,
  withFields,
  withNode,
  withReplicas,
  withSpec,
  withStatus,
  withUpdate,
  worldOfThree,
} from './worlds.ts';

const HOUR_MS = 3_600_000;

describe('the plan of a converged world', () => {
  const spec = fc.record({
    replicas: fc.constantFrom(1, 3, 5),
    learners: fc.constantFrom(0, 0, 1, 2),
    version: fc.constantFrom('0.1.0', '0.2.0'),
    'update.strategy': fc.constantFrom('Rolling', 'OnDelete'),
    'update.paused': fc.boolean(),
    'update.finalize': fc.constantFrom('Automatic', 'Manual'),
    'storage.size': fc.constantFrom('1Gi', '1024Mi', '30Gi'),
    'repair.policy': fc.constantFrom('Automatic', 'Manual'),
    reclaimPolicy: fc.constantFrom('Retain', 'Delete'),
  });

  it('is empty for every spec (KC7)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), spec, async (seed, edit) => {
        const world = await convergedWorld(seed, edit);
        expect(world.description?.nodes).toHaveLength(edit.replicas + edit.learners);
        expect(plan(world).map(textOf)).toEqual([]);
      }),
      { numRuns: runs(30) },
    );
  });
});

const later: Change = (world) => ({ ...world, nowMs: world.nowMs + HOUR_MS });
const outdated = withEach('pods', '', { metadata: { annotations: null } });
const lagging = withNode(1, { lag: 5_000 });
const learners: Change[] = [withNode(1, { role: 'learner' }), withNode(3, { role: 'learner' })];
const unready = unreadySince('shop-1', AGO);
const CRASHES = { name: 'cairn', state: { waiting: { reason: 'CrashLoopBackOff' } } };
const crashing = withEach('pods', 'shop-1', { status: { containerStatuses: [CRASHES] } });
const raised: Change[] = [withDescribed('nodes', (node) => ({ ...node, levelMax: 2 })), later];
const readyNow: Change = (world) => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: new Date(world.nowMs).toISOString() };
  return withEach('pods', 'shop-1', { status: { conditions: [ready] } })(world);
};
const withFinal = (finalVersion: string | null, finalLevel: number | null): Change =>
  withStatus({ finalVersion, finalLevel });
const removed = withNode(3, { state: 'removed' });
const unscheduled = withEach('pods', 'shop-2', { spec: { nodeName: null } });
const retiring: Change = withClaim('shop-2', { annotations: { 'cairn.dev/retiring': '3' } });
const unwanted: Change = (world) => {
  const others = world.owned.map((each) => merged({ ...each }, { metadata: { name: 'other' } }));
  return { ...world, owned: [...world.owned, ...(others as unknown as World['owned'])] };
};
const lostSince = (since: string): Change => withClaim('shop-1', { annotations: { 'cairn.dev/lost-since': since } });
const withoutKubeNodes: Change = (world) => ({ ...world, kubeNodes: new Map() });
const lostNow: Change[] = [unready, silent(2), withoutKubeNodes];
const lost: Change[] = [...lostNow, lostSince(AGO)];
const orphaned: Change = (world) => {
  const nodes = world.description?.nodes ?? [];
  const replaced = nodes.filter(({ name }) => name === 'shop-1').map((node) => ({ ...node, id: 9 }));
  return withFields({ description: { nodes: [...nodes, ...replaced] } })(world);
};
const orphan: Change[] = [orphaned, silent(2)];
const withDatabase = (patch: Json): Change =>
  withDescribed('databases', (each, at) => (at === 0 ? { ...each, ...patch } : each));
const leaderless = withDatabase({ leader: undefined });
const growing = (maxSize: string): Change => withSpec({ storage: { autoGrow: { maxSize, thresholdPercent: 80 } } });
const full: Change = withNode(1, { diskUsedPercent: 90 });
const endedFull = (agoMs: number, container: object = {}): Change[] => [
  silent(1),
  (world) => {
    const end = { exitCode: 74, finishedAt: new Date(world.nowMs - agoMs).toISOString() };
    const containerStatuses = [{ ...CRASHES, ...container, lastState: { terminated: end } }];
    return withEach('pods', 'shop-0', { status: { containerStatuses } })(world);
  },
];
const grown =
  (agoMs: number): Change =>
  (world) => {
    const annotations = { 'cairn.dev/grown-at': new Date(world.nowMs - agoMs).toISOString() };
    return withClaim('shop-0', { annotations })(world);
  };
const sized = (name: string, storage: string): Change =>
  withEach('claims', name, { spec: { resources: { requests: { storage } } } });
const holding = (name: string, storage: string): Change =>
  withEach('claims', name, { status: { capacity: { storage } } });
const kept: Change[] = [deleted, retained];
const unowned = (name: string): Change => withEach('pods', name, { metadata: { ownerReferences: null } });
const terminating = (name: string): Change => withEach('pods', name, { metadata: { deletionTimestamp: AGO } });
const deletedSet: Change = (world) => ({
  ...withFields({ sets: { voters: { metadata: { deletionTimestamp: AGO } } } })(world),
  owned: world.owned.map((each) =>
    each.kind === 'StatefulSet' ? { ...each, metadata: { ...each.metadata, deletionTimestamp: AGO } } : each,
  ),
  isApplied: ({ kind }) => kind !== 'StatefulSet',
});
const withRest: Change = (world) => ({
  ...world,
  render: (facts) => [
    ...world.render(facts),
    { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'shop', namespace: 'events' } },
  ],
});
const oldClaim: Change = (world) => {
  const labels = { 'cairn.dev/released': '3' };
  const status = { capacity: { storage: '1Gi' } };
  const [claim] = world.claims;
  const added = merged({ ...claim }, { metadata: { name: 'data-shop-3', labels }, status });
  return { ...world, claims: [...world.claims, added as unknown as World['claims'][number]] };
};

/**
 * Changed worlds, their plans and the reasons of their conditions. The cluster has the nodes 1 to 3 in shop-0 to
 * shop-2. Node 1 has the most leaderships.
 */
const EXAMPLES: readonly Example[] = [
  ['nothing', [], /^$/, 'Stable', 'Converged', 'AllNodesReady'],

  ['outdated pods', [outdated], /^patch shop-2 .*draining-since.*, drain 3 \(shop-2\)$/, 'Rolling'],
  ['outdated, paused', [outdated, withUpdate({ paused: true })], /^$/, 'Paused'],
  ['outdated, OnDelete', [outdated, withUpdate({ strategy: 'OnDelete' })], /^$/, 'WaitsForDeletion'],
  ['outdated, no answer', [outdated, unanswered], /^wait .*does not answer/, 'ClusterUnreachable', 'RollWaits'],
  ['outdated, no leader', [outdated, unconfirmed], /^wait .*no leader of its catalog/, 'NoCatalogLeader'],
  ['outdated, a silent node', [outdated, silent(2)], /^wait .*not answer/],
  ['outdated, a lagging node', [outdated, lagging], /^wait .*caught up/],
  [
    'outdated, a lagging replica',
    [outdated, withDatabase({ members: [{ node: 1, isCaughtUp: false }] })],
    /^wait .*caught up/,
  ],
  ['outdated, a drained node', [outdated, withNode(2, { isDraining: true })], /^wait .*drained/],
  ['outdated, a leaving node', [outdated, withNode(2, { state: 'leaving' })], /^wait .*leaving/],
  ['outdated, an unready pod', [outdated, unready], /^wait .*shop-1 is not ready$/],
  ['outdated, a pod that crashes', [outdated, unready, crashing], /^wait .*shop-1 is not ready: CrashLoopBackOff$/],
  ['outdated, learners', [outdated, ...learners, withNode(2, { leads: 0 })], /^wait .*too few voters/],
  ['outdated, not stable yet', [outdated, withUpdate({ stableSeconds: 9e9 })], /^wait .*ready for less than/],
  ['outdated, more replicas', [outdated, withReplicas(5), applied], /^wait .*there are not 5 pods/],
  ['an outdated pod out of service', [outdated, unready, silent(2)], /^delete Pod shop-1: .* !shop-1$/],
  ['an outdated pod that may serve', [outdated, unready, unanswered], /^wait .*does not answer/],
  [
    'an outdated pod that never started',
    [outdated, unready, withEach('pods', 'shop-1', { status: { containerStatuses: [] } }), unanswered],
    /^delete Pod shop-1/,
    'NodesNotReady',
  ],
  [
    'an outdated pod that crashes beside an injected container, no answer',
    [
      outdated,
      unready,
      withEach('pods', 'shop-1', {
        status: { containerStatuses: [{ name: 'proxy', state: { running: {} } }, CRASHES] },
      }),
      unanswered,
    ],
    /^delete Pod shop-1/,
  ],
  [
    'a mark without a drain',
    [outdated, marked('shop-0', 1_000)],
    /^patch shop-0 .*draining-since.*, drain 1 \(shop-0\)$/,
  ],
  ['a drain', [outdated, ...draining], /^wait .*transfers/],
  [
    'a drain, no leaderships left',
    [outdated, ...draining, withNode(1, { movableLeads: 0 })],
    /^delete Pod shop-0: .* shop-0 shop-1 shop-2$/,
  ],
  ['a drain for too long', [outdated, ...draining, later], /^delete Pod shop-0: .* shop-0 shop-1 shop-2$/],
  ['a drain, paused', [outdated, ...draining, withUpdate({ paused: true })], /^wait .*transfers/],
  ['a drain of a current pod', draining, /^undrain 1 \(shop-0\)$/],
  ['a mark of a current pod', [marked('shop-0', 1_000)], /^patch shop-0 .*since":null/],
  ['a release below the final one', [outdated, withFinal('0.2.0', 1)], /^$/, 'RollbackImpossible'],
  ['a release above the final one', [outdated, withFinal('0.0.10', 1)], /^patch shop-2 .*draining-since/, 'Rolling'],
  ['a final release that is not final yet', [outdated, withFinal('0.2.0', 2)], /^patch shop-2 .*draining-since/],

  [
    'a cluster without a final release',
    [withFinal(null, null)],
    /^record {"finalVersion":"0.1.0","finalLevel":1}$/,
    'AllNodesReady',
    'Recording',
  ],
  ['a level that was raised by hand', [withFields({ description: { level: 2 } })], /^record .*"0.1.0","finalLevel":2}/],
  ['a later release of the same level', [withFinal('0.0.9', 1)], /^$/],
  ['a final release, a lagging node', [withFinal(null, null), lagging], /^$/],
  ['a higher level', raised, /^record .*"0.1.0","finalLevel":2}$/, 'NotFinal', 'Recording'],
  ['a higher level that is recorded', [...raised, withFinal('0.1.0', 2)], /^finalize$/, 'Finalizing'],
  ['a higher level that is recorded for another release', [...raised, withFinal('0.2.0', 2)], /^record .*"0.1.0"/],
  ['a higher level, Manual', [...raised, withUpdate({ finalize: 'Manual' })], /^$/],
  ['a higher level, too early', [...raised, withUpdate({ finalizeAfterSeconds: 9e9 })], /^$/],
  ['a higher level, a pod that has just started', [...raised, readyNow], /^$/],
  ['a higher level, another release', [...raised, withNode(2, { release: '0.2.0' })], /^$/, 'Upgrading'],
  ['a higher level, a lagging node', [...raised, lagging], /^$/],
  ['a higher level, another spec', [...raised, withFields({ cluster: { metadata: { generation: 99 } } })], /^$/],

  ['fewer replicas', [withReplicas(1)], /^patch data-shop-2 .*retiring":"3".*, decommission 3/, 'Scaling'],
  ['fewer replicas, a silent node', [withReplicas(1), silent(1)], /^wait .*not answer/, 'ScaleDownWaits'],
  ['fewer replicas, no answer', [withReplicas(1), unanswered], /^wait .*does not answer/],
  ['fewer replicas, no leader', [withReplicas(1), unconfirmed], /^wait .*no leader of its catalog/],
  [
    'fewer replicas, a leaving node',
    [withReplicas(1), withNode(3, { state: 'leaving' })],
    /^wait .*moves its replicas/,
  ],
  ['fewer replicas, a removed node', [withReplicas(1), removed], /^patch data-shop-2 .*released":"3"/],
  ['fewer replicas, a released claim', [withReplicas(1), removed, released], /^apply .*"replicas":2/],
  [
    'fewer replicas, a released claim, no leader',
    [withReplicas(1), removed, released, unconfirmed],
    /^wait .*no leader of its catalog/,
  ],
  ['fewer replicas, a drain', [withReplicas(1), outdated, ...draining], /^wait .*transfers/],
  ['fewer replicas, a pod that waits', [withReplicas(1), unscheduled, unanswered], /^wait .*does not answer/],
  [
    'fewer replicas, a pod that waits, no cluster yet',
    [withReplicas(1), unscheduled, unanswered, withStatus({ clusterID: null })],
    /^apply .*"replicas":0/,
  ],
  ['a retiring node that leaves', [retiring, withNode(3, { state: 'leaving' })], /^recommission 3 \(shop-2\)$/],
  ['a retiring node that stays', [retiring], /^patch data-shop-2 .*retiring":null/],
  [
    'a retiring node that was removed',
    [retiring, removed],
    /^patch data-shop-2 .*released":"3".*, patch data-shop-2 .*retiring":null/,
  ],
  ['a released claim', [released], /^delete \w+Claim data-shop-2: .* !shop-2$/],
  [
    'a released claim that is deleted',
    [released, withClaim('shop-2', { deletionTimestamp: AGO })],
    /^delete Pod shop-2: .* !shop-2$/,
  ],
  [
    'an ordinal whose removed pod hangs, more replicas, a drained node',
    [
      withReplicas(5),
      oldClaim,
      withClaim('shop-3', { deletionTimestamp: AGO }),
      marked('shop-0', 1_000),
      withNode(1, { isDraining: true }),
    ],
    /^undrain 1 /,
  ],
  [
    'an ordinal whose removed pod hangs, more replicas, an outdated pod out of service',
    [withReplicas(5), oldClaim, withClaim('shop-3', { deletionTimestamp: AGO }), outdated, unready, silent(2)],
    /^delete Pod shop-1: .* !shop-1$/,
  ],
  [
    'an ordinal whose removed pod hangs, more replicas',
    [withReplicas(5), oldClaim, withClaim('shop-3', { deletionTimestamp: AGO })],
    /^wait the volume of shop-3 is being deleted$/,
    'Scaling',
    'ScalingUp',
  ],

  ['no StatefulSet', [held, ...unapplied], /^apply .*"replicas":3/],
  ['no StatefulSet, fewer replicas', [held, withReplicas(1), ...unapplied], /^apply .*"replicas":3/],
  [
    'an object that no pod needs is not applied, a lost node',
    [...lost, withRest, (world) => ({ ...world, isApplied: ({ kind }) => kind !== 'Ingress' })],
    /^delete \w+Claim data-shop-1: .*, apply Ingress {}$/,
  ],
  ['a StatefulSet that is being deleted', [held, deletedSet], /^$/],
  ['an object that is not wanted', [unwanted], /^delete \w+ other: the spec no longer wants it$/],
  [
    'a policy that deletes volumes',
    [withSpec({ reclaimPolicy: 'Delete' })],
    /^patch shop .*\["cairn.dev.volumes"\],"resourceVersion":"\d+"/,
  ],
  ['a deletion', [deleted], /^delete StatefulSet shop/],
  ['a deletion, no StatefulSet', [deleted, withFields({ sets: { voters: null } })], /^delete Pod shop-0/],
  ['a deletion, pods that end', [deleted, withFields({ sets: { voters: null } }), terminating('')], /^wait/],
  ['a deletion, no pods', [deleted, withFields({ sets: { voters: null }, pods: [] })], /^delete \w+Claim data-shop-0/],
  [
    'a deletion, no volumes',
    [deleted, withFields({ sets: { voters: null }, pods: [], claims: [] })],
    /^patch shop .*\["example.com.audit"\]/,
  ],
  ['a deletion that keeps volumes', [...kept], /^delete StatefulSet shop/],
  [
    'a deletion that keeps volumes, pods that end',
    [...kept, withFields({ sets: { voters: null } }), terminating('')],
    /^patch shop .*\["example.com.audit"\]/,
  ],
  ['a deletion of others', [deleted, withFields({ cluster: { metadata: { finalizers: [] } } })], /^wait/],

  ['a lost node', lost, /^delete \w+Claim data-shop-1: .* !shop-1 shop-0 shop-2 !node$/],
  [
    'a node that was removed by hand',
    [unready, withNode(2, { state: 'removed' }), lostSince(AGO)],
    /^delete \w+Claim data-shop-1: .* !shop-1 shop-0 shop-2$/,
  ],
  ['a lost node, Manual', [...lost, withSpec({ repair: { policy: 'Manual' } })], /^$/],
  ['a lost node, no leader', [...lost, unconfirmed], /^$/],
  ['a lost node, a lagging one', [...lost, lagging], /^wait .*caught up/],
  ['a lost node, learners', [...lost, ...learners], /^$/],
  [
    'a lost node, a database without a leader',
    [...lost, leaderless],
    /^wait .*has no leader/,
    'DatabasesWithoutLeader',
    'RepairWaits',
  ],
  [
    'a lost node whose claim is deleted',
    [...lost, withClaim('shop-1', { deletionTimestamp: AGO })],
    /^delete Pod shop-1: .* Now !shop-1 shop-0 shop-2 !node$/,
  ],
  [
    'a lost node whose claim the StatefulSet controller makes again',
    [...lost, (world) => ({ ...world, claims: world.claims.filter((claim) => claim.metadata.name !== 'data-shop-1') })],
    /^$/,
  ],
  [
    'a node that is lost since a moment',
    [...lostNow, (world) => lostSince(new Date(world.nowMs).toISOString())(world)],
    /^wait .*shop-1 is lost: its Kubernetes node .* is gone; it is replaced after repair.afterSeconds$/,
    'RepairWaits',
  ],
  ['a node that is lost now', lostNow, /^patch data-shop-1 .*lost-since":"/],
  ['a node that answers from a lost Kubernetes node', [unready, withoutKubeNodes], /^$/],
  ['a node that is back', [lostSince(AGO)], /^patch data-shop-1 .*lost-since":null/],
  ['a replaced node', orphan, /^decommission 2 \(shop-1\)$/],
  ['a node that another one has replaced, a lagging one', [...orphan, lagging], /^$/],
  ['a node that another one has replaced, and that answers', [orphaned], /^$/],

  ['a recovery', [recovered, leaderless], /^recover 1 \(shop-0\)$/],
  ['a recovery that is done', [recovered, leaderless, withStatus({ recoveryID: 'one' })], /^$/],
  ['a recovery, no leader', [recovered, leaderless, unconfirmed], /^wait .*quorum again/, 'RecoveryWaits'],
  ['a recovery, a silent survivor', [recovered, leaderless, silent(1)], /^wait .*shop-0 does not answer/],
  [
    'a recovery, a survivor that has replaced another node',
    [
      recovered,
      withSpec({ recovery: { survivor: 'shop-1' } }),
      ...orphan,
      withDatabase({ leader: undefined, nodes: [9] }),
    ],
    /^recover 9 \(shop-1\)$/,
  ],
  ['a recovery without a lost database', [recovered, silent(1)], /^$/],
  ['a recovery, a survivor without a replica', [recovered, withDatabase({ leader: undefined, nodes: [2, 3] })], /^$/],

  ['a full volume', [full, growing('40Gi')], /^patch data-shop-0 .*"25Gi".*, patch data-shop-1 .*, patch data-shop-2 /],
  ['a full volume near the cap', [full, growing('22Gi')], /^patch data-shop-0 .*"22Gi"/, 'NearlyFull'],
  ['a full volume that grows', [full, growing('40Gi'), holding('shop-0', '10Gi')], /^$/, 'Growing'],
  ['a full volume, another one that grows', [full, growing('40Gi'), holding('shop-1', '10Gi')], /^patch .*"25Gi"/],
  ['a full volume, an old claim', [full, growing('40Gi'), oldClaim], /^patch data-shop-0 .*"25Gi"/],
  [
    'a node that cannot start, its disk is full',
    [...endedFull(10), growing('40Gi')],
    /^patch data-shop-0 .*"25Gi"/,
    'NearlyFull',
  ],
  [
    'a node that cannot start, no answer',
    [...endedFull(10), unanswered, growing('40Gi')],
    /patch data-shop-0 .*"25Gi"/,
  ],
  [
    'an injected container that could not start',
    [...endedFull(10, { name: 'proxy' }), growing('40Gi')],
    /^$/,
    'Healthy',
  ],
  ['a node that could not start, and is grown', [...endedFull(10), grown(500_000), growing('40Gi')], /^$/, 'Healthy'],
  [
    'a node that cannot start after its growth',
    [...endedFull(10), grown(700_000), growing('40Gi')],
    /^patch data-shop-0 /,
  ],
  [
    'a node that could not start, and answers',
    [...endedFull(10), withNode(1, { answers: true }), growing('40Gi')],
    /^$/,
  ],
  ['a larger claim', [sized('shop-0', '30Gi'), held], /^patch data-shop-1 .*"30Gi".*, patch data-shop-2 .*"30Gi"/],
  ['larger claims', [sized('', '30Gi')], /^patch shop (?!.*delete).*\["cairn.dev.volumes"\]/],
  ['larger claims, a finalizer', [sized('', '30Gi'), held], /^delete StatefulSet shop: .* Orphan$/],
  ['larger claims, a pod not adopted yet', [sized('', '30Gi'), held, unowned('shop-1')], /^$/],
  [
    'larger claims, no last claim',
    [sized('', '30Gi'), held, (world) => ({ ...world, claims: world.claims.slice(0, -1) })],
    /^$/,
  ],
  [
    'larger claims, a terminating pod',
    [sized('', '30Gi'), held, unowned('shop-1'), terminating('shop-1')],
    /^delete Stat/,
  ],
  ['a pod without an owner', [unowned('shop-1')], /^patch shop .*\["cairn.dev.volumes"\]/],
  ['a finalizer that is not needed any more', [held], /^patch shop .*"finalizers":\[\]/],
];

describe('the plan of a world with a few differences', () => {
  let world: World;
  beforeAll(async () => {
    world = await worldOfThree();
  });

  const rows = EXAMPLES.map(([name, ...rest]) => [name, rest] as const);

  it.each(rows)('%s (KC1, KC2, KC3, KC4, KC5, KC6, KC8, KC9, KC11, KC13)', (_name, [changes, expected, ...reasons]) => {
    const [actions, found] = planned(world, changes);
    expect(actions).toMatch(expected);
    expect(found).toEqual(expect.arrayContaining(reasons));
  });

  it.each<readonly [string, readonly Change[], seconds: number]>([
    ['nothing', [], 30],
    ['outdated, paused', [outdated, withUpdate({ paused: true })], 30],
    ['a full volume', [full], 5],
    ['a volume that grows', [holding('shop-1', '10Gi')], 5],
    ['an unready pod', [unready], 5],
    ['a silent node', [silent(2)], 5],
    ['a node that is lost since a moment', lost, 5],
    ['a lagging node', [lagging], 5],
    ['a database without a leader', [leaderless], 5],
    ['no answer', [unanswered], 5],
  ])('%s: the world is observed again after $2 s', (_name, changes, seconds) => {
    expect(recheckMs(changes.reduce((found, change) => change(found), world))).toBe(1000 * seconds);
  });
});
