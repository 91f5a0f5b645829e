// Goal: the controller works with informers, the loop and the objects of a real CairnCluster; and its irreversible
// actions fail when the state that they depend on has changed. Method: an API server in memory, without controllers of
// Kubernetes.
import { isDeepStrictEqual } from 'node:util';
import { status as codes, Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import type { CairnCluster } from '../../../operator/src/api/index.ts';
import { CallError } from '../../../operator/src/client/index.ts';
import { expectedOf, metadataPatch } from '../../../operator/src/cluster/actions.ts';
import {
  ClusterInformers,
  type ClusterObjects,
  type ClusterPorts,
  clusterController,
} from '../../../operator/src/cluster/index.ts';
import { KUBE_NODE, POD } from '../../../operator/src/cluster/kinds.ts';
import { statusOf } from '../../../operator/src/cluster/status.ts';
import { Api, ControllerLoop, type KubeObject, type Pass, pathOf } from '../../../operator/src/kube/index.ts';
import { OWNED_KINDS, objectsOf, recoveryPodOf } from '../../../operator/src/objects/index.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { Refusal, type Store, type Target } from '../../support/kube-api/store.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { clusterOf, factsOf } from '../objects/clusters.ts';

const MINUTE_MS = 60_000;
const CLUSTERS = '/apis/cairn.dev/v1alpha1/cairnclusters';
const SHOP: Target = { collection: CLUSTERS, namespace: 'prod', name: 'shop', isStatus: false };

function controllerOf(
  api: Api,
  objects: ClusterPorts['objects'],
  adminOf: ClusterPorts['adminOf'] = () => Promise.reject(new Error('no pods run')),
) {
  return clusterController({
    api,
    objects,
    adminOf,
    render: (found, facts) => objectsOf(found, factsOf(found, facts)),
    renderRecovery: (found, asked) => recoveryPodOf(found, factsOf(found), asked),
    secretsOf: () => ({ tls: ['Unknown', 'NotObserved', ''] }),
    events: { record: () => undefined },
  });
}

/** The world of a CairnCluster with these objects. `change` happens after the copy of the operator was made. */
async function observed(
  objects: Partial<ClusterObjects>,
  { adminOf, change }: { adminOf?: ClusterPorts['adminOf']; change?: (store: Store) => void } = {},
) {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const copy = server.store.create(SHOP, { ...clusterOf() }, 'user') as unknown as CairnCluster;
  change?.(server.store);
  const none = { pods: [], claims: [], sets: {}, owned: [], kubeNodes: undefined };
  const read = { cluster: () => copy, of: () => ({ ...none, ...objects }) };
  const controller = controllerOf(new Api(server, runtime), read, adminOf);
  const { world } = (await controller.observe('prod/shop', new AbortController().signal)) ?? {};
  return { world, server };
}

it('applies the objects of a CairnCluster and repairs a changed one; then it writes nothing (KC7)', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const api = new Api(server, runtime);
  const cluster = clusterOf();
  const { namespace, name } = cluster.metadata;
  const target = { collection: CLUSTERS, namespace, name, isStatus: false };
  server.store.create(target, { ...cluster }, 'test');
  const passes: Pass[] = [];
  const over = new AbortController();
  const onError = (error: unknown): void => expect(error).toBeUndefined();
  const served = [OWNED_KINDS.ServiceAccount, OWNED_KINDS.ConfigMap, OWNED_KINDS.Service, OWNED_KINDS.NetworkPolicy];
  const owned = [...served, OWNED_KINDS.PodDisruptionBudget, OWNED_KINDS.StatefulSet];
  const informers = new ClusterInformers(api, { onError, owned, readsKubeNodes: true });
  const loop = new ControllerLoop(controllerOf(api, informers), {
    runtime,
    mayAct: () => true,
    onPass: (pass) => void passes.push(pass),
  });
  for (const informer of [informers.clusters, ...informers.others.values()]) void informer.run(over.signal);
  void loop.run(informers.sources, over.signal);

  await runtime.advance(MINUTE_MS);
  expect(passes.filter(({ failure }) => failure !== undefined)).toEqual([]);
  const writes = (): readonly string[] => server.requests.filter((request) => !request.startsWith('GET'));
  const applied = writes().filter((request) => !request.endsWith('/status'));
  expect(applied).toEqual([...new Set(applied)]);
  expect(server.store.list('/apis/apps/v1/statefulsets')).toHaveLength(1);

  const before = writes().length;
  await runtime.advance(10 * MINUTE_MS);
  expect(writes().slice(before)).toEqual([]);

  const set = { collection: '/apis/apps/v1/statefulsets', namespace, name, isStatus: false };
  server.store.merge(set, { spec: { replicas: 1 } }, 'a user');
  await runtime.advance(MINUTE_MS);
  expect(server.store.get(set)['spec']).toMatchObject({ replicas: 3 });
  over.abort();
});

it('reads objects before it asks nodes, so a disk is not judged by its size before the growth (KC11)', async () => {
  const order: string[] = [];
  const pod = { metadata: { name: 'shop-0', namespace: 'prod', uid: 'one', resourceVersion: '1' } };
  const objects = {
    get pods() {
      order.push('objects');
      return [pod];
    },
  };
  const adminOf = (): never => {
    order.push('description');
    throw new Error('it does not answer');
  };
  await observed(objects, { adminOf: async () => adminOf() });
  expect(order).toEqual(['objects', 'description']);
});

it('a pod or claim with the labels of the cluster is of no node when its name is of none (KC4)', async () => {
  const named = (name: string): KubeObject => ({
    metadata: { name, namespace: 'prod', uid: name, resourceVersion: '1' },
  });
  const { world } = await observed({
    pods: ['shop-0', 'shop-recovery', 'shop-backup-29', 'other-1'].map(named),
    claims: ['data-shop-0', 'data-shop-backup', 'shop-1', 'data-shop-'].map(named),
  });
  const namesIn = (found: readonly KubeObject[] = []): readonly string[] => found.map(({ metadata }) => metadata.name);
  expect([namesIn(world?.pods), namesIn(world?.claims)]).toEqual([['shop-0'], ['data-shop-0']]);
  expect(world?.recoveryPod?.metadata.name).toBe('shop-recovery');
});

it('reports in the status that the nodes reject its key', async () => {
  const pod = { metadata: { name: 'shop-0', namespace: 'prod', uid: 'one', resourceVersion: '1' } };
  const unused = (): never => expect.unreachable();
  const refused = { code: codes.UNAUTHENTICATED, details: 'not valid', metadata: new Metadata() };
  const describe = (): Promise<never> =>
    Promise.reject(new CallError(Object.assign(new Error(), refused), 'DescribeCluster at shop-0'));
  const admin = { describe, order: unused, finalize: unused, recover: unused };
  const { world } = await observed({ pods: [pod] }, { adminOf: async () => admin });
  if (world === undefined) throw new Error('the CairnCluster was not observed');
  const { conditions } = statusOf(world, { plan: [], done: 0 }, { tls: ['True', 'Disabled', ''] });
  expect(conditions?.find(({ type }) => type === 'QuorumHealthy')).toMatchObject({
    status: 'Unknown',
    reason: 'ClusterUnreachable',
    message: 'a node refuses: DescribeCluster at shop-0: not valid',
  });
});

const readySince = (lastTransitionTime: string): object => ({
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
});
const READY = readySince('2026-11-29T00:00:00Z');
const UNREADY = { conditions: [{ type: 'Ready', status: 'False' }] };
const NODE: Target = { collection: pathOf(KUBE_NODE), namespace: undefined, name: 'node-1', isStatus: false };
const [FIRST, SECOND] = ['shop-0', 'shop-1'].map((name) => ({ ...SHOP, collection: pathOf(POD), name })) as [
  Target,
  Target,
];

function setStatus(store: Store, target: Target, status: object): void {
  store.replace({ ...target, isStatus: true }, { status }, 'kubelet');
}

/** A ready pod. Its finalizer keeps it when it is deleted. */
function makePod(store: Store, target: Target): KubeObject {
  store.create(target, { metadata: { finalizers: ['example.com/audit'] } }, 'kubelet');
  setStatus(store, target, READY);
  return store.get(target);
}

function end(store: Store, target: Target): void {
  store.merge(target, { metadata: { finalizers: null } }, 'user');
  store.delete(target);
}

it.each<readonly [string, (store: Store) => void, string]>([
  ['nothing', () => undefined, 'none'],
  ['a Kubernetes node that is gone', (store) => store.delete(NODE), 'none'],
  ['a pod that is not ready', (store) => setStatus(store, SECOND, UNREADY), 'pod shop-1 has changed'],
  [
    'a pod that was not ready for a moment',
    (store) => setStatus(store, SECOND, readySince('2026-11-29T00:00:40Z')),
    'pod shop-1 has changed',
  ],
  ['a pod that terminates', (store) => store.delete(SECOND), 'pod shop-1 has changed'],
  ['a pod that is gone', (store) => end(store, SECOND), 'pod shop-1 has changed'],
  [
    'another pod of the name',
    (store) => {
      end(store, SECOND);
      makePod(store, SECOND);
    },
    'pod shop-1 has changed',
  ],
  ['a Kubernetes node that is ready', (store) => setStatus(store, NODE, READY), 'node-1 is ready again'],
])('a pod is deleted unless something it depends on has changed: %s (KC1, KC4, KC10)', async (_name, change, fault) => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const { store } = server;
  store.create(SHOP, { spec: {} }, 'user');
  store.create(NODE, {}, 'kubelet');
  setStatus(store, NODE, UNREADY);
  const pods = [makePod(store, FIRST), makePod(store, SECOND)];
  const expects = expectedOf(pods.map((pod) => ({ name: pod.metadata.name, pod })));
  const action = {
    kind: 'delete',
    of: POD,
    object: pods[0] as KubeObject,
    why: '',
    expects,
    lostNode: NODE.name,
  } as const;
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  change(store);
  const failure = await controller.act({ action, admin: undefined }, new AbortController().signal).then(
    () => 'none',
    (error: unknown) => String(error),
  );
  expect(failure).toContain(fault);
  expect(server.requests.some((request) => request.startsWith('DELETE'))).toBe(fault === 'none');
});

it.each<readonly [string, (store: Store) => void]>([
  ['the spec', (store) => store.merge(SHOP, { spec: { replicas: 5 } }, 'user')],
  ['the finalizers', (store) => store.merge(SHOP, { metadata: { finalizers: ['example.com/audit'] } }, 'user')],
  ['the status', (store) => setStatus(store, SHOP, { recoveryStage: 'Stopped' })],
])('the plan follows from the CairnCluster as it is when the copy lags: %s (KC10)', async (_name, change) => {
  const { world, server } = await observed({}, { change });
  expect(world?.cluster).toEqual(server.store.get(SHOP));
});

it.each<readonly [string, (store: Store) => void]>([
  ['is gone', (store) => store.delete(SHOP)],
  ['is another one', (store) => void [store.delete(SHOP), store.create(SHOP, { spec: {} }, 'user')]],
])('nothing is planned for a CairnCluster that %s (KC10)', async (_name, change) => {
  const { world } = await observed({}, { change });
  expect(world).toBeUndefined();
});

it('an object that is gone is not created again in the form that it was to be changed to (KC10)', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  server.store.create(SHOP, { spec: {} }, 'user');
  const object = { ...OWNED_KINDS.StatefulSet, metadata: { namespace: 'prod', name: 'shop' } };
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  const { signal } = new AbortController();
  const apply = (uid: string | undefined): Promise<void> =>
    controller.act({ action: { kind: 'apply', object, uid }, admin: undefined }, signal);
  const sets = (): readonly string[] =>
    server.store.list('/apis/apps/v1/statefulsets').map(({ metadata: { uid } }) => uid);
  await expect(apply('uid-gone')).rejects.toThrow('no object has the uid');
  expect(sets()).toEqual([]);
  await apply(undefined);
  await apply(sets()[0]);
  expect(sets()).toHaveLength(1);
});

it.each([
  ['another application', { 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/instance': 'shop' }],
  ['another CairnCluster', { 'app.kubernetes.io/managed-by': 'cairn-operator', 'app.kubernetes.io/instance': 'sh' }],
  ['none', undefined],
])('an object with the labels of %s is not taken over (KC10)', async (_name, labels) => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const cluster = clusterOf();
  const target = { ...SHOP, collection: pathOf(OWNED_KINDS.ServiceAccount) };
  server.store.create(target, { metadata: { labels } }, 'user');
  const before = server.store.get(target);
  const [object] = objectsOf(cluster, factsOf(cluster)).filter(({ kind }) => kind === 'ServiceAccount');
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  const apply = (): Promise<void> =>
    controller.act(
      { action: { kind: 'apply', object: object as never }, admin: undefined },
      new AbortController().signal,
    );
  await expect(apply()).rejects.toThrow('ServiceAccount shop exists and is not of the operator: delete it, or choose');
  expect(server.store.get(target)).toEqual(before);
  server.store.delete(target);
  await apply();
  // It is that of an earlier CairnCluster of the name.
  await apply();
});

it('an object whose lists others have changed, so that they do not merge, is repaired', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const { store } = server;
  const cluster = clusterOf();
  const [object] = objectsOf(cluster, factsOf(cluster)).filter(({ kind, metadata: { name } }) => {
    return kind === 'Service' && name === 'shop';
  });
  const target = { ...SHOP, collection: pathOf(OWNED_KINDS.Service) };
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  const act = (uid?: string): Promise<void> =>
    controller.act(
      { action: { kind: 'apply', object: object as never, uid }, admin: undefined },
      new AbortController().signal,
    );
  await act();
  const { spec, metadata } = store.get(target);
  const apply = store.apply.bind(store);
  // The API server does the same: it merges ports by their numbers.
  store.apply = (at, body, manager) => {
    const found = store.get(at)['spec'];
    if (!isDeepStrictEqual(found, body['spec'])) throw new Refusal(422, 'Invalid', 'Duplicate value: "grpc"');
    return apply(at, body, manager);
  };
  store.merge(target, { spec: { ports: [{ name: 'grpc', port: 1 }] } }, 'a user');
  await act(metadata.uid);
  expect(store.get(target)['spec']).toEqual(spec);
  await expect(act('another')).rejects.toThrow(/Duplicate value|the uid of the object/);
});

it('a mark of an object is not given to another one of its name (KC10)', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const { store } = server;
  const action = metadataPatch(POD, makePod(store, FIRST), 'labels', { 'cairn.dev/released': '1' });
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  const { signal } = new AbortController();
  end(store, FIRST);
  makePod(store, FIRST);
  await expect(controller.act({ action, admin: undefined }, signal)).rejects.toThrow('the uid of the object');
  expect(store.get(FIRST).metadata).not.toHaveProperty('labels');
});

it.each([
  ['no pod of a node exists', () => undefined, 'none'],
  ['a pod of a node exists', (store: Store) => void makePod(store, SECOND), 'pod shop-1 has changed'],
])('cairn recover runs only while no pod of a node exists: %s (KC10, KC12)', async (_name, change, fault) => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const { store } = server;
  store.create(SHOP, { spec: {} }, 'user');
  const metadata = { namespace: 'prod', name: 'shop-recovery' };
  const expects = ['shop-0', 'shop-1'].map((name) => ({ name, uid: undefined, readyMs: undefined }));
  const action = { kind: 'refound', object: { apiVersion: 'v1', kind: 'Pod', metadata }, expects } as const;
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  change(store);
  const failure = await controller.act({ action, admin: undefined }, new AbortController().signal).then(
    () => 'none',
    (error: unknown) => String(error),
  );
  expect(failure).toContain(fault);
  const pods = store.list(pathOf(POD)).map((pod) => pod.metadata.name);
  expect(pods.includes('shop-recovery')).toBe(fault === 'none');
});

it.each<readonly [string, (store: Store) => void, string]>([
  ['nothing', () => undefined, 'none'],
  ['the spec', (store) => store.merge(SHOP, { spec: { replicas: 5 } }, 'user'), '409'],
  ['the finalizers', (store) => store.merge(SHOP, { metadata: { finalizers: ['example.com/audit'] } }, 'user'), '409'],
  ['the stage, by another operator', (store) => setStatus(store, SHOP, { recoveryStage: 'Founded' }), '409'],
  ['a pod', (store) => setStatus(store, FIRST, UNREADY), 'pod shop-0 has changed'],
])('all nodes are stopped unless something has changed: %s (KC10, KC12)', async (_name, change, fault) => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const { store } = server;
  store.create(SHOP, { spec: {} }, 'user');
  setStatus(store, SHOP, { clusterID: 'one', recoverySurvivor: 'shop-1' });
  const pod = makePod(store, FIRST);
  const object = store.get(SHOP) as unknown as CairnCluster;
  const status = { recoveryStage: 'Stopped', recoverySurvivor: null } as const;
  const action = { kind: 'record', object, status, why: '', expects: expectedOf([{ name: FIRST.name, pod }]) } as const;
  const controller = controllerOf(new Api(server, runtime), {} as ClusterPorts['objects']);
  expect(controller.isIrreversible({ action, admin: undefined })).toBe(true);
  change(store);
  const failure = await controller.act({ action, admin: undefined }, new AbortController().signal).then(
    () => 'none',
    (error: unknown) => String(error),
  );
  expect(failure).toContain(fault);
  // A user who replaces the CairnCluster does not end the recovery.
  if (fault === 'none') store.replace(SHOP, { spec: { replicas: 3 } }, 'user');
  const stopped = { clusterID: 'one', recoveryStage: 'Stopped' };
  expect(isDeepStrictEqual(store.get(SHOP)['status'], stopped)).toBe(fault === 'none');
});
