// Goal: a catalog that has lost its quorum for good is recovered as spec.recovery accepts it, and step by step. Method:
// plans of example worlds of each stage, like those in plan.test.ts.
import { beforeAll, expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import { statusOf } from '../../../operator/src/cluster/status.ts';
import type { Json } from '../../support/kube-api/store.ts';
import {
  AGO,
  applied,
  type Change,
  deleted,
  draining,
  type Example,
  held,
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
  withEach,
  withFields,
  withNode,
  withReplicas,
  withSpec,
  withStatus,
  worldOfThree,
} from './worlds.ts';

const lostMajority: Change[] = [
  ...[2, 3].map(silent),
  ...['shop-1', 'shop-2'].map((name) => unreadySince(name, AGO)),
  unconfirmed,
];
const accepted = withSpec({ recovery: { acceptLoss: '0a1b2c3d' } });
const running: Change[] = [recovered, withStatus({ recoveryStage: 'Stopped' }), applied, held];
const stopped: Change[] = [...running, unanswered, withFields({ pods: [] })];
const founded = withStatus({ recoveryStage: 'Founded', recoverySurvivor: 'shop-0', recoveryID: 'one' });
const RUN = { 'cairn.dev/recovery-id': 'one', 'cairn.dev/recovery-survivor': 'shop-0' };
const ACCEPTED = { ...RUN, 'cairn.dev/recovery-accept-loss': '0a1b2c3d' };
const FOUNDED = /^record {"recoveryStage":"Founded","recoverySurvivor":"shop-0","recoveryID":"one"}$/;
const STARTED = /^record {"recoveryStage":null,"recoverySurvivor":null}$/;
const SHOWN = 'cairn recover: nothing was changed. To continue: cairn recover --accept-loss 0a1b2c3d';
/** The pod that runs `cairn recover`, which has ended when there is an exit code. */
const withRun = (annotations: Json, exitCode?: number, message = '', injected: object[] = []): Change => {
  const metadata = { name: 'shop-recovery', annotations };
  const terminated = { exitCode, message: `NODE  NAME\n${message}\n` };
  const state = exitCode === undefined ? { waiting: { reason: 'ImagePullBackOff' } } : { terminated };
  return withFields({
    recoveryPod: { metadata, status: { containerStatuses: [...injected, { name: 'cairn', state }] } },
  });
};
const refounded: Change[] = [...stopped, accepted, founded];
const TERMINATING = { metadata: { deletionTimestamp: AGO } };
const going = (name: string): Change => withEach('claims', name, TERMINATING);
const neverReady = (name: string, creationTimestamp: string): Change =>
  withEach('pods', name, { metadata: { creationTimestamp }, status: { conditions: [] } });
const withClaims =
  (...names: readonly string[]): Change =>
  (world) => ({ ...world, claims: world.claims.filter(({ metadata }) => names.includes(metadata.name)) });
const withPods =
  (...names: readonly string[]): Change =>
  (world) => ({ ...world, pods: world.pods.filter(({ metadata }) => names.includes(metadata.name)) });
const single = withClaims('data-shop-0');
const starting: Change[] = [...running, accepted, founded, single, withPods('shop-0')];
const ended: Change[] = [deleted, withFields({ sets: { voters: null }, pods: [] })];

const EXAMPLES: readonly Example[] = [
  [
    'a lost catalog',
    [recovered, ...lostMajority],
    /^record {"recoveryStage":"Stopped"} !shop-1 !shop-2$/,
    'NoCatalogLeader',
  ],
  [
    'a lost catalog, an object that is not applied, a drain',
    [recovered, ...lostMajority, ...unapplied.slice(1), ...draining],
    /^record .*"Stopped"/,
  ],
  [
    'a lost catalog, a silent survivor, no StatefulSet',
    [recovered, ...lostMajority, silent(1), held, ...unapplied],
    /^apply /,
  ],
  [
    'a voter that was ready a moment ago, no StatefulSet',
    [
      recovered,
      ...lostMajority,
      (world) => unreadySince('shop-2', new Date(world.nowMs - 59_000).toISOString())(world),
      held,
      ...unapplied,
    ],
    /^apply /,
  ],
  [
    'a lost catalog, a StatefulSet that others have changed',
    [recovered, ...lostMajority, withFields({ sets: { voters: { spec: { replicas: 1 } } } })],
    /^record .*"Stopped".* !shop-1 !shop-2$/,
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
    [recovered, ...lostMajority, going('shop-0')],
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
  [
    'a lost catalog, half of the voters',
    [recovered, ...lostMajority, withNode(2, { role: 'none' })],
    /^record .*"Stopped"/,
  ],
  [
    'a lost catalog, no known voter',
    [recovered, ...lostMajority, ...[1, 2, 3].map((id) => withNode(id, { role: 'none' }))],
    /^wait .*quorum again/,
  ],
  [
    'a lost catalog, a voter that another node has replaced',
    [recovered, silent(2), withNode(3, { name: 'shop-1', role: 'learner' }), unconfirmed],
    /^record .*"Stopped"/,
  ],
  [
    'a lost catalog, a voter that has replaced another node, and was ready a moment ago',
    [
      recovered,
      withNode(2, { name: 'shop-2', role: 'none', answers: false }),
      silent(3),
      (world) => unreadySince('shop-2', new Date(world.nowMs - 59_000).toISOString())(world),
      unconfirmed,
    ],
    /^wait .*quorum again, with the nodes 3 \(shop-2\)/,
  ],
  [
    'a lost catalog, a survivor that has replaced another node',
    [
      recovered,
      ...[1, 2].map(silent),
      withNode(3, { name: 'shop-0', role: 'learner' }),
      unreadySince('shop-1', AGO),
      unconfirmed,
    ],
    /^record .*"Stopped"/,
  ],
  ['a lost catalog, voters without a pod', [recovered, ...lostMajority, withPods('shop-0')], /^wait .*2 .*, 3 /],
  [
    'a lost catalog, a pod that was never ready, and is new',
    [recovered, ...lostMajority, (world) => neverReady('shop-2', new Date(world.nowMs - 59_000).toISOString())(world)],
    /^wait .*quorum again, with the nodes 3 \(shop-2\)/,
  ],
  [
    'a lost catalog, a pod that was never ready, and is old',
    [recovered, ...lostMajority, neverReady('shop-2', AGO)],
    /^record .*"Stopped"/,
  ],
  ['a lost catalog, a voter whose pod is ready', [recovered, ...[2, 3].map(silent), unconfirmed], /^wait .*2 .*, 3 /],
  [
    'nodes to stop, no finalizer',
    [recovered, withStatus({ recoveryStage: 'Stopped' })],
    /^patch shop .*\["cairn.dev.volumes"\]/,
  ],
  ['nodes to stop', [recovered, withStatus({ recoveryStage: 'Stopped' }), held], /^apply .*"replicas":0/, 'Recovering'],
  [
    'nodes that stop',
    running,
    /^wait pod shop-0 has not ended yet; if its Kubernetes node node-\d is lost for good, delete that node$/,
  ],
  [
    'nodes that stop, terminating pods',
    [...running, withEach('pods', '', TERMINATING)],
    /^wait pod shop-0 has not ended/,
  ],
  ['stopped nodes', stopped, /^refound {"survivor":"shop-0"} !shop-0 !shop-1 !shop-2$/, 'Recovering'],
  ['stopped nodes, another operator', [...stopped, ...unapplied], /^apply .*"replicas":0/],
  ['stopped nodes, no claim', [...stopped, withClaims()], /^wait the claim data-shop-0 is lost/, 'RecoveryRefused'],
  [
    'stopped nodes, a survivor whose node was removed',
    [...stopped, withClaim('shop-0', { labels: { 'cairn.dev/released': '1' } })],
    /^wait the claim data-shop-0 .* was released/,
  ],
  ['a run that has begun', [...stopped, withRun(RUN)], /^wait .*in the pod shop-recovery: ImagePullBackOff$/],
  [
    'a run beside an injected container that has ended',
    [...stopped, withRun(RUN, undefined, '', [{ name: 'a-proxy', state: { terminated: { exitCode: 0 } } }])],
    /^wait .*in the pod shop-recovery: ImagePullBackOff$/,
  ],
  ['a run that shows the loss', [...stopped, withRun(RUN, 1, SHOWN)], /^wait .*"0a1b2c3d"$/, 'LossNotAccepted'],
  [
    'a run that is refused',
    [...stopped, withRun(RUN, 1, 'cairn recover: a table is damaged')],
    /^wait cairn recover: a table is damaged. Delete the pod shop-recovery to try again$/,
    'RecoveryRefused',
  ],
  [
    'a run whose annotations others have removed',
    [...stopped, withRun({}, 0)],
    /^wait the pod shop-recovery has lost its annotations/,
    'RecoveryRefused',
  ],
  ['a loss that is accepted', [...stopped, accepted, withRun(RUN, 1, SHOWN)], /^delete Pod shop-recovery: /],
  [
    'a loss that is accepted, a pod that ends',
    [...stopped, accepted, withRun(RUN, 1, SHOWN), withFields({ recoveryPod: TERMINATING })],
    /^wait the pod shop-recovery is being deleted$/,
  ],
  [
    'a pod that was evicted',
    [...stopped, withRun(RUN), withFields({ recoveryPod: { status: { phase: 'Failed', message: 'Evicted' } } })],
    /^wait Evicted. Delete the pod shop-recovery to try again$/,
    'RecoveryRefused',
  ],
  ['a loss that is accepted, no pod', [...stopped, accepted], /^refound .*"acceptLoss":"0a1b2c3d"} !shop-0 !shop-1/],
  [
    'another survivor',
    [...stopped, withRun(RUN, 1, SHOWN), withSpec({ recovery: { survivor: 'shop-1' } })],
    /^delete P/,
  ],
  ['another loss', [...stopped, accepted, withRun(ACCEPTED, 1, SHOWN)], /^wait .*"0a1b2c3d"$/, 'LossNotAccepted'],
  ['a run that has succeeded', [...stopped, accepted, withRun(ACCEPTED, 0)], FOUNDED],
  [
    'a run that has succeeded, no spec.recovery',
    [...stopped, withRun(ACCEPTED, 0), withSpec({ recovery: null })],
    FOUNDED,
  ],
  [
    'no spec.recovery any more, a run',
    [...stopped, withRun(RUN), withSpec({ recovery: null })],
    /^delete Pod shop-rec/,
  ],
  [
    'no spec.recovery any more, an accepted run',
    [...stopped, withRun(ACCEPTED), withSpec({ recovery: null })],
    /^wait cairn recover runs in the pod shop-recovery: ImagePullBackOff$/,
  ],
  [
    'no spec.recovery any more, an accepted run of unknown end',
    [...stopped, withRun(ACCEPTED, 137), withSpec({ recovery: null })],
    /^wait .*Delete the pod shop-recovery to try again$/,
    'RecoveryRefused',
  ],
  [
    'no spec.recovery any more, an accepted run that has refused',
    [...stopped, withRun(ACCEPTED, 1, SHOWN), withSpec({ recovery: null })],
    /^delete Pod shop-rec/,
  ],
  [
    'no spec.recovery any more, an accepted run with a malformed command line',
    [...stopped, withRun(ACCEPTED, 2), withSpec({ recovery: null })],
    /^delete Pod shop-rec/,
  ],
  [
    'a survivor without a claim, an accepted run of another one',
    [...stopped, accepted, withRun(ACCEPTED), withSpec({ recovery: { survivor: 'shop-9' } })],
    /^wait cairn recover runs/,
  ],
  [
    'another survivor, an accepted run',
    [...stopped, accepted, withRun(ACCEPTED), withSpec({ recovery: { survivor: 'shop-1' } })],
    /^wait cairn recover runs/,
  ],
  ['no spec.recovery any more', [...stopped, withSpec({ recovery: null })], STARTED],
  ['no spec.recovery any more, pods', [...running, withSpec({ recovery: null })], STARTED],
  ['a cluster that was founded again', [...refounded, withRun(ACCEPTED, 0)], /^delete \w+Claim data-shop-1: /],
  [
    'a cluster that was founded again, a claim that is being deleted',
    [...refounded, going('shop-1')],
    /^delete \w+Claim data-shop-2: /,
  ],
  ['a cluster that was founded again, a pod', [...refounded, single, withRun(ACCEPTED, 0)], /^delete Pod shop-rec/],
  [
    'a cluster that was founded again, claims that are being deleted',
    [...refounded, ...['shop-1', 'shop-2'].map(going)],
    /^wait the cluster continues with the data of shop-0$/,
  ],
  [
    'a cluster that was founded again, no spec.recovery',
    [...refounded, withSpec({ recovery: null })],
    /^delete \w+Claim data-shop-1: /,
  ],
  ['a cluster that was founded again, pods', [...running, accepted, founded], /^wait pod shop-0 has not ended/],
  [
    'a cluster that was founded again, no survivor in the status',
    [...refounded, withStatus({ recoverySurvivor: null })],
    /^wait status.recoverySurvivor must be the pod/,
    'RecoveryRefused',
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
  [
    'the survivor, which starts alone',
    [...refounded, single, ...unapplied.slice(1)],
    /^apply StatefulSet .*"replicas":1,.*"ordinals":{"start":0}/,
  ],
  ['the survivor, which has no pod yet', [...refounded, single], /^wait pod shop-0 starts before the others$/],
  [
    'the survivor, which has no Kubernetes node yet',
    [...starting, withEach('pods', 'shop-0', { spec: { nodeName: null } })],
    /^wait pod shop-0 starts before the others$/,
  ],
  ['the survivor, which has a Kubernetes node', starting, STARTED],
  [
    'a survivor above the number of nodes',
    [
      ...unapplied.slice(1),
      withFields({ sets: { voters: { spec: { replicas: 0 } } }, pods: [], description: null }),
      withClaims('data-shop-2'),
      withReplicas(1),
    ],
    /^apply .*"replicas":3/,
  ],
  [
    'a survivor above the number of nodes, which has started alone',
    [
      ...unapplied.slice(1),
      withFields({ sets: { voters: { spec: { replicas: 1, ordinals: { start: 2 } } } }, description: null }),
      withPods('shop-2'),
      withClaims('data-shop-2'),
      withReplicas(1),
    ],
    /^apply .*"replicas":3(?!.*ordinals)/,
  ],
  ['a deletion, a run', [...ended, withRun(RUN), withClaims()], /^delete Pod shop-recovery: /],
  ['a deletion that keeps volumes, a run', [...ended, retained, withRun(RUN)], /^delete Pod shop-recovery: /],
  [
    'a deletion that keeps volumes, a run that ends',
    [...ended, retained, withRun(RUN), withFields({ recoveryPod: TERMINATING })],
    /^wait /,
  ],
  [
    'a deletion that keeps volumes, a run that has succeeded',
    [...ended, retained, withRun(ACCEPTED, 0)],
    /^delete \w+Claim data-shop-1: /,
  ],
  [
    'a deletion that keeps volumes, a cluster that was founded again',
    [...refounded, deleted, retained, withFields({ sets: { voters: null } })],
    /^delete \w+Claim data-shop-1: /,
  ],
  [
    'a deletion that keeps volumes, no survivor in the status',
    [...refounded, deleted, retained, withFields({ sets: { voters: null } }), withStatus({ recoverySurvivor: null })],
    /^patch shop .*finalizers/,
  ],
  [
    'a deletion that keeps volumes, a survivor without a stage',
    [...ended, retained, withStatus({ recoverySurvivor: 'shop-0' })],
    /^patch shop .*finalizers/,
  ],
];

let world: World;
beforeAll(async () => {
  world = await worldOfThree();
});

it.each(EXAMPLES.map(([name, ...rest]) => [name, rest] as const))(
  '%s: the plan (KC12)',
  (_name, [changes, expected, ...reasons]) => {
    const [actions, found] = planned(world, changes);
    expect(actions).toMatch(expected);
    expect(found).toEqual(expect.arrayContaining(reasons));
  },
);

it('an id does not count as carried out while the leader of a lost catalog has not noticed the loss (KC9)', () => {
  const changes = [recovered, ...lostMajority.slice(0, -1)];
  const lost = changes.reduce((found, change) => change(found), world);
  const { recoveryID } = statusOf(lost, { plan: [], done: 0 }, { tls: ['True', 'Disabled', ''] });
  expect(recoveryID).toBeUndefined();
});
