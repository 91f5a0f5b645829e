// Goal: the plan is empty for every converged world, and has the right actions for worlds that differ in a few things.
// Method: worlds that the simulation reaches; each row of a table changes some fields.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import { plan } from '../../../operator/src/cluster/plan.ts';
import { recheckMs, statusOf } from '../../../operator/src/cluster/status.ts';
import { type Json, merged } from '../../support/kube-api/store.ts';
import { runs } from '../../support/runs.ts';
import { Run, textOf } from './model/run.ts';

const STEPS = 400;
const HOUR_MS = 3_600_000;
const AGO = '2026-11-29T00:00:00Z';

async function convergedWorld(seed: number, edit: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const run = new Run(seed, edit);
  await run.until(() => run.isStable, STEPS);
  return run.world();
}

describe('the plan of a converged world', () => {
  const spec = fc.record({
    replicas: fc.constantFrom(1, 3, 5),
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
        expect(world.description?.nodes).toHaveLength(edit.replicas);
        expect(plan(world).map(textOf)).toEqual([]);
      }),
      { numRuns: runs(30) },
    );
  });
});

type Change = (world: World) => World;

/** Changes fields of the world; null removes one. */
function withFields(patch: Json): Change {
  return (world) => merged({ ...world }, patch) as unknown as World;
}

function withEach(list: 'pods' | 'claims', name: string, patch: Json): Change {
  return (world) => {
    const items = world[list].map((item) => (item.metadata.name.endsWith(name) ? merged({ ...item }, patch) : item));
    return { ...world, [list]: items };
  };
}

function withDescribed(list: 'nodes' | 'databases', change: (item: Json, at: number) => Json): Change {
  return (world) =>
    withFields({ description: { [list]: world.description?.[list].map((item, at) => change({ ...item }, at)) } })(
      world,
    );
}

const withNode = (id: number, patch: Json): Change =>
  withDescribed('nodes', (node) => (node['id'] === id ? { ...node, ...patch } : node));
const withSpec = (spec: Json): Change => withFields({ cluster: { spec } });
const silent = (id: number): Change => withNode(id, { answers: false });
const withStatus = (status: Json): Change => withFields({ cluster: { status } });
const withUpdate = (update: Json): Change => withSpec({ update });
const withClaim = (name: string, metadata: Json): Change => withEach('claims', name, { metadata });
const withReplicas = (replicas: number): Change => withSpec({ replicas });
const marked =
  (name: string, agoMs: number): Change =>
  (world) => {
    const annotations = { 'cairn.dev/draining-since': new Date(world.nowMs - agoMs).toISOString() };
    return withEach('pods', name, { metadata: { annotations } })(world);
  };

const draining: Change[] = [marked('shop-0', 1_000), withNode(1, { isDraining: true })];
const later: Change = (world) => ({ ...world, nowMs: world.nowMs + HOUR_MS });
const outdated = withEach('pods', '', { metadata: { annotations: null } });
const unanswered = withFields({ description: null });
const unconfirmed = withFields({ description: { isConfirmed: false } });
const lagging = withNode(1, { lag: 5_000 });
const learners: Change[] = [withNode(1, { role: 'learner' }), withNode(3, { role: 'learner' })];
const unreadySince = (name: string, since: string): Change =>
  withEach('pods', name, { status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: since }] } });
const unready = unreadySince('shop-1', AGO);
const crashing = withEach('pods', 'shop-1', {
  status: { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
});
const applied: Change = (world) => ({ ...world, isApplied: () => true });
const unapplied: Change[] = [withFields({ set: null }), (world) => ({ ...world, isApplied: () => false })];
const raised: Change[] = [withDescribed('nodes', (node) => ({ ...node, levelMax: 2 })), later];
const withFinal = (final: string | null): Change =>
  withFields({ cluster: { metadata: { annotations: { 'cairn.dev/final-version': final } } } });
const removed = withNode(3, { state: 'removed' });
const unscheduled = withEach('pods', 'shop-2', { spec: { nodeName: null } });
const released = withClaim('shop-2', { labels: { 'cairn.dev/released': '3' } });
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
const recovered = withSpec({ recovery: { id: 'one', survivor: 'shop-0', acknowledgeDataLoss: true } });
const lostMajority: Change[] = [
  ...[2, 3].map(silent),
  ...['shop-1', 'shop-2'].map((name) => unreadySince(name, AGO)),
  unconfirmed,
];
const accepted = withSpec({ recovery: { acceptLoss: '0a1b2c3d' } });
const withStage = (stage: string | null): Change =>
  withFields({ cluster: { metadata: { annotations: { 'cairn.dev/recovery': stage } } } });
const running: Change[] = [recovered, withStage('stopped'), applied];
const stopped: Change[] = [...running, unanswered, withFields({ pods: [] })];
const RUN = JSON.stringify({ id: 'one', survivor: 'shop-0' });
const ACCEPTED = JSON.stringify({ id: 'one', survivor: 'shop-0', acceptLoss: '0a1b2c3d' });
const SHOWN = 'cairn recover: nothing was changed. To continue: cairn recover --accept-loss 0a1b2c3d';
/** The pod that runs `cairn recover`, which has ended when there is an exit code. */
const withRun = (run: string, exitCode?: number, message = ''): Change => {
  const metadata = { name: 'shop-recovery', annotations: { 'cairn.dev/recovery': run } };
  const terminated = { exitCode, message: `NODE  NAME\n${message}\n` };
  const state = exitCode === undefined ? { waiting: { reason: 'ImagePullBackOff' } } : { terminated };
  return withFields({ recoveryPod: { metadata, status: { containerStatuses: [{ state }] } } } as unknown as Json);
};
const refounded: Change[] = [...stopped, accepted, withStage(ACCEPTED)];
const withClaims =
  (...names: readonly string[]): Change =>
  (world) => ({ ...world, claims: world.claims.filter(({ metadata }) => names.includes(metadata.name)) });
const deleted = withFields({
  cluster: {
    metadata: { deletionTimestamp: AGO, finalizers: ['cairn.dev/volumes', 'example.com/audit'] },
    spec: { reclaimPolicy: 'Delete' },
  },
});
const growing = (maxSize: string): Change => withSpec({ storage: { autoGrow: { maxSize, thresholdPercent: 80 } } });
const full: Change = withNode(1, { diskUsedPercent: 90 });
const endedFull = (agoMs: number): Change[] => [
  silent(1),
  (world) => {
    const end = { exitCode: 74, finishedAt: new Date(world.nowMs - agoMs).toISOString() };
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    return withEach('pods', 'shop-0', { status: { containerStatuses: [{ state, lastState: { terminated: end } }] } })(
      world,
    );
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
const unowned = (name: string): Change => withEach('pods', name, { metadata: { ownerReferences: null } });
const terminating = (name: string): Change => withEach('pods', name, { metadata: { deletionTimestamp: AGO } });
const deletedSet: Change = (world) => ({
  ...withFields({ set: { metadata: { deletionTimestamp: AGO } } })(world),
  owned: world.owned.map((each) =>
    each.kind === 'StatefulSet' ? { ...each, metadata: { ...each.metadata, deletionTimestamp: AGO } } : each,
  ),
  isApplied: ({ kind }) => kind !== 'StatefulSet',
});
const oldClaim: Change = (world) => {
  const labels = { 'cairn.dev/released': '3' };
  const status = { capacity: { storage: '1Gi' } };
  const [claim] = world.claims;
  const added = merged({ ...claim }, { metadata: { name: 'data-shop-3', labels }, status });
  return { ...world, claims: [...world.claims, added as unknown as World['claims'][number]] };
};

/** An action with the pods that it expects to be ready or not, and the Kubernetes node that must be lost. */
function shown(action: ReturnType<typeof plan>[number]): string {
  if (!('object' in action) || action.kind === 'apply') return textOf(action);
  const { expects = [] } = action;
  const { lostNode, how } = action.kind === 'delete' ? action : {};
  const pods = expects.map(({ name, isReady }) => (isReady ? name : `!${name}`));
  return [textOf(action), how, ...pods, lostNode && '!node'].filter((part) => part !== undefined).join(' ');
}

/**
 * Changed worlds, their plans and the reasons of their conditions. The cluster has the nodes 1 to 3 in shop-0 to
 * shop-2. Node 1 has the most leaderships.
 */
const EXAMPLES: readonly (readonly [string, readonly Change[], RegExp, ...reasons: readonly string[]])[] = [
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
  ['a release below the final one', [outdated, withFinal('0.2.0@1')], /^$/, 'RollbackImpossible'],
  ['a release above the final one', [outdated, withFinal('0.0.10@1')], /^patch shop-2 .*draining-since/, 'Rolling'],
  ['a final release that is not final yet', [outdated, withFinal('0.2.0@2')], /^patch shop-2 .*draining-since/],

  ['a cluster without a final release', [withFinal(null)], /^patch shop .*"0.1.0@1"/, 'AllNodesReady', 'Marking'],
  ['a level that was raised by hand', [withFields({ description: { level: 2 } })], /^patch shop .*"0.1.0@2"/],
  ['a later release of the same level', [withFinal('0.0.9@1')], /^$/],
  ['a final release, a lagging node', [withFinal(null), lagging], /^$/],
  ['a higher level', raised, /^patch shop .*"0.1.0@2".*, finalize$/, 'NotFinal', 'Marking'],
  ['a higher level, Manual', [...raised, withUpdate({ finalize: 'Manual' })], /^$/],
  ['a higher level, too early', [...raised, withUpdate({ finalizeAfterSeconds: 9e9 })], /^$/],
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

  ['no StatefulSet', unapplied, /^apply .*"replicas":3/],
  ['no StatefulSet, fewer replicas', [withReplicas(1), ...unapplied], /^apply .*"replicas":3/],
  ['a StatefulSet that is being deleted', [deletedSet], /^$/],
  ['an object that is not wanted', [unwanted], /^delete \w+ other: the spec no longer wants it$/],
  [
    'a policy that deletes volumes',
    [withSpec({ reclaimPolicy: 'Delete' })],
    /^patch shop .*\["cairn.dev.volumes"\],"resourceVersion":"\d+"/,
  ],
  ['a deletion', [deleted], /^delete StatefulSet shop/],
  ['a deletion, no StatefulSet', [deleted, withFields({ set: null })], /^wait/],
  ['a deletion, no pods', [deleted, withFields({ set: null, pods: [] })], /^delete \w+Claim data-shop-0/],
  [
    'a deletion, no volumes',
    [deleted, withFields({ set: null, pods: [], claims: [] })],
    /^patch shop .*\["example.com.audit"\]/,
  ],
  [
    'a deletion that keeps volumes',
    [deleted, withSpec({ reclaimPolicy: 'Retain' })],
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
  ['a recovery without a lost database', [recovered, silent(1)], /^$/],
  ['a recovery, a survivor without a replica', [recovered, withDatabase({ leader: undefined, nodes: [2, 3] })], /^$/],

  [
    'a lost catalog',
    [recovered, ...lostMajority],
    /^patch shop .*"cairn.dev.recovery":"stopped".* !shop-1 !shop-2$/,
    'NoCatalogLeader',
  ],
  ['a lost catalog, no spec.recovery', lostMajority, /^$/],
  ['a lost catalog, an id that was carried out', [recovered, ...lostMajority, withStatus({ recoveryID: 'one' })], /^$/],
  ['a lost catalog, an answer of its leader', [recovered, ...lostMajority.slice(0, -1)], /^$/],
  ['a lost catalog, no answer', [recovered, ...lostMajority, unanswered], /^$/],
  ['a lost catalog, a silent survivor', [recovered, ...lostMajority, silent(1)], /^wait .*shop-0 does not answer$/],
  [
    'a lost catalog, a survivor without a claim',
    [recovered, ...lostMajority, withClaims('data-shop-1')],
    /^wait the claim data-shop-0 is lost.*spec.recovery.survivor/,
    'RecoveryRefused',
  ],
  [
    'a lost catalog, a survivor whose volume is lost',
    [recovered, ...lostMajority, withEach('claims', 'shop-0', { status: { phase: 'Lost' } })],
    /^wait the claim data-shop-0 is lost/,
  ],
  [
    'a lost catalog, a survivor whose claim is deleted',
    [recovered, ...lostMajority, withClaim('shop-0', { deletionTimestamp: AGO })],
    /^wait the claim data-shop-0 is lost/,
  ],
  [
    'a lost catalog, a voter that was ready a moment ago',
    [
      recovered,
      ...lostMajority,
      (world) => unreadySince('shop-2', new Date(world.nowMs - 59_000).toISOString())(world),
    ],
    /^wait .*quorum again, with the nodes 3 \(shop-2\)/,
    'RecoveryWaits',
  ],
  ['a lost catalog, a voter whose pod is ready', [recovered, ...[2, 3].map(silent), unconfirmed], /^wait .*2 .*, 3 /],
  ['nodes to stop', [recovered, withStage('stopped')], /^apply .*"replicas":0/, 'Recovering'],
  [
    'nodes that stop',
    running,
    /^wait pod shop-0 has not ended yet; if its Kubernetes node node-\d is lost for good, delete that node$/,
  ],
  ['stopped nodes', stopped, /^refound {"survivor":"shop-0"} !shop-0 !shop-1 !shop-2$/, 'Recovering'],
  ['stopped nodes, another operator', [...stopped, ...unapplied], /^apply .*"replicas":0/],
  ['stopped nodes, no claim', [...stopped, withClaims()], /^wait the claim data-shop-0 is lost/, 'RecoveryRefused'],
  ['a run that has begun', [...stopped, withRun(RUN)], /^wait .*in the pod shop-recovery: ImagePullBackOff$/],
  ['a run that shows the loss', [...stopped, withRun(RUN, 1, SHOWN)], /^wait .*"0a1b2c3d"$/, 'LossNotAccepted'],
  [
    'a run that is refused',
    [...stopped, withRun(RUN, 1, 'cairn recover: a table is damaged')],
    /^wait cairn recover: a table is damaged. Delete the pod shop-recovery to try again$/,
    'RecoveryRefused',
  ],
  ['a loss that is accepted', [...stopped, accepted, withRun(RUN, 1, SHOWN)], /^delete Pod shop-recovery: /],
  ['a loss that is accepted, no pod', [...stopped, accepted], /^refound .*"acceptLoss":"0a1b2c3d"} !shop-0 !shop-1/],
  [
    'another survivor',
    [...stopped, withRun(RUN, 1, SHOWN), withSpec({ recovery: { survivor: 'shop-1' } })],
    /^delete P/,
  ],
  ['another loss', [...stopped, accepted, withRun(ACCEPTED, 1, SHOWN)], /^wait .*"0a1b2c3d"$/, 'LossNotAccepted'],
  [
    'a run that has succeeded',
    [...stopped, accepted, withRun(ACCEPTED, 0)],
    /^patch shop .*survivor.*shop-0.*acceptLoss/,
  ],
  [
    'a run that has succeeded, no spec.recovery',
    [...stopped, withRun(ACCEPTED, 0), withSpec({ recovery: null })],
    /^patch shop .*survivor.*shop-0.*acceptLoss/,
  ],
  [
    'no spec.recovery any more, a run',
    [...stopped, withRun(RUN), withSpec({ recovery: null })],
    /^delete Pod shop-rec/,
  ],
  ['no spec.recovery any more', [...stopped, withSpec({ recovery: null })], /^patch shop .*recovery":null/],
  ['no spec.recovery any more, pods', [...running, withSpec({ recovery: null })], /^patch shop .*recovery":null/],
  ['a cluster that was founded again', refounded, /^delete \w+Claim data-shop-1: /],
  [
    'a cluster that was founded again, no spec.recovery',
    [...refounded, withSpec({ recovery: null })],
    /^delete \w+Claim data-shop-1: /,
  ],
  [
    'a cluster that was founded again, pods',
    [...running, accepted, withStage(ACCEPTED)],
    /^wait pod shop-0 has not ended/,
  ],
  [
    'a cluster that was founded again, no claim',
    [...refounded, withClaims('data-shop-1')],
    /^wait the claim data-shop-0/,
  ],
  [
    'a cluster that was founded again, released claims',
    [...refounded, withClaims('data-shop-0', 'data-shop-2'), released, withRun(ACCEPTED, 0)],
    /^delete Pod shop-recovery: /,
  ],
  ['a cluster that was founded again, its id not in the status', [...refounded, withClaims('data-shop-0')], /^wait /],
  [
    'a cluster that was founded again, its id in the status',
    [...refounded, withClaims('data-shop-0'), withStatus({ recoveryID: 'one' })],
    /^patch shop .*recovery":null/,
  ],
  [
    'a survivor above the number of nodes',
    [
      ...unapplied.slice(1),
      withFields({ set: { spec: { replicas: 0 } }, pods: [], description: null }),
      withClaims('data-shop-2'),
      withReplicas(1),
    ],
    /^apply .*"replicas":3/,
  ],
  ['a deletion, a run', [deleted, withFields({ set: null, pods: [] }), withRun(RUN)], /^delete Pod shop-recovery: /],

  ['a full volume', [full, growing('40Gi')], /^patch data-shop-0 .*"25Gi".*, patch data-shop-1 .*, patch data-shop-2 /],
  ['a full volume near the cap', [full, growing('22Gi')], /^patch data-shop-0 .*"22Gi"/, 'NearlyFull'],
  ['a full volume that grows', [full, growing('40Gi'), holding('shop-1', '10Gi')], /^$/, 'Growing'],
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
  ['a larger claim', [sized('shop-0', '30Gi')], /^patch data-shop-1 .*"30Gi".*, patch data-shop-2 .*"30Gi"/],
  ['larger claims', [sized('', '30Gi')], /^delete StatefulSet shop: .* Orphan$/],
  ['larger claims, a pod not adopted yet', [sized('', '30Gi'), unowned('shop-1')], /^$/],
  ['larger claims, a terminating pod', [sized('', '30Gi'), unowned('shop-1'), terminating('shop-1')], /^delete Stat/],
];

describe('the plan of a world with a few differences', () => {
  let world: World;
  beforeAll(async () => {
    const leads = withDescribed('nodes', (node) => ({ ...node, leads: 4 - Number(node['id']), movableLeads: 1 }));
    world = leads(await convergedWorld(1, { 'update.stableSeconds': 0 }));
  });

  const rows = EXAMPLES.map(([name, ...rest]) => [name, rest] as const);

  it.each(rows)('%s (KC1, KC2, KC3, KC4, KC5, KC6, KC8, KC9, KC11, KC12, KC13)', (_name, [changes, expected, ...reasons]) => {
    const changed = changes.reduce((found, change) => change(found), world);
    const actions = plan(changed);
    expect(actions.map(shown).join(', ')).toMatch(expected);
    const status = statusOf(changed, { plan: actions, done: 0 }, { tls: ['True', 'Disabled', ''] });
    expect(status.conditions?.map(({ reason }) => reason)).toEqual(expect.arrayContaining(reasons));
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
