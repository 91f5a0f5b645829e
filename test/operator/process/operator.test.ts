// Goal: the whole operator creates the objects that the pods of a short CairnCluster need, requests only kinds that the
// API server serves, and deletes objects that a spec no longer wants. Method: all controllers in one process, with an
// API server in memory that has no pods.
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import {
  CAIRN_CLUSTER,
  type CairnCluster,
  PRESENTER,
  STATE_CHANGE,
  STATE_VIEW,
} from '../../../operator/src/api/index.ts';
import {
  Api,
  type Kind,
  pathOf,
  SECRET,
  type Transport,
  type TransportRequest,
} from '../../../operator/src/kube/index.ts';
import { OWNED_KINDS } from '../../../operator/src/objects/index.ts';
import { assemble } from '../../../operator/src/operator.ts';
import { portOf, readOptions, Telemetry } from '../../../operator/src/process/index.ts';
import { eventually } from '../../support/eventually.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { clusterOf } from '../objects/clusters.ts';

const BUILT_IN = ['v1', 'apps/v1', 'policy/v1', 'networking.k8s.io/v1'];
const GROUP_PATH = /^\/(?:api|apis\/[^/]+)\/[^/]+$/;

/** Answers requests for the served kinds, refuses those to list `forbidden`, and passes all others to the server. */
function withDiscovery(server: MemoryApi, served: readonly string[], forbidden: string): Transport {
  const send = (request: TransportRequest): ReturnType<Transport['send']> => {
    if (new URL(request.path, 'https://kubernetes').pathname === forbidden) {
      const body = JSON.stringify({ reason: 'Forbidden', code: 403 });
      return Promise.resolve({ status: 403, body: Readable.from([body]) });
    }
    if (!GROUP_PATH.test(request.path)) return server.send(request);
    const version = request.path.replace(/^\/apis?\//, '');
    const kinds = Object.values(OWNED_KINDS).filter(({ apiVersion }) => apiVersion === version);
    const resources = kinds.map(({ plural: name }) => ({ name }));
    const isServed = served.includes(version);
    const body = JSON.stringify(isServed ? { resources } : { reason: 'NotFound', code: 404 });
    return Promise.resolve({ status: isServed ? 200 : 404, body: Readable.from([body]) });
  };
  return { send };
}

/** An operator that runs until the test ends, with the CairnCluster `shop`. */
async function start(spec: object = {}, served: readonly string[] = BUILT_IN, forbidden = '') {
  const runtime = new ManualRuntime(1);
  const server = new MemoryApi(runtime);
  const cluster = clusterOf({ ...spec });
  const { namespace, name } = cluster.metadata;
  const target = { namespace, name, collection: pathOf(CAIRN_CLUSTER), isStatus: false };
  server.store.create(target, { spec: { ...cluster.spec } }, 'user');
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const errors: string[] = [];
  const telemetry = new Telemetry();
  const operator = await assemble(readOptions(['--pod-name=a', '--image=registry.example.com/cairn']), {
    api: new Api(withDiscovery(server, served, forbidden), runtime),
    telemetry,
    onError: (error) => void errors.push(String(error)),
  });
  const ended = operator.run(over.signal);
  const namesOf = (kind: Kind): readonly string[] =>
    server.store.list(pathOf(kind)).map((object) => object.metadata.name);
  return { runtime, server, target, errors, namesOf, telemetry, ended };
}

it('the operator creates Secrets and objects of a CairnCluster, and reports why it waits', async () => {
  const { runtime, server, errors, namesOf } = await start();
  await eventually(async () => {
    await runtime.advance(5_000);
    const [cluster] = server.store.list(pathOf(CAIRN_CLUSTER)) as unknown as readonly CairnCluster[];
    expect(cluster?.status?.caSecretName).toBe('shop-ca');
    expect(cluster?.status?.conditions?.find(({ type }) => type === 'TLSReady')?.status).toBe('True');
  });
  expect(namesOf(SECRET)).toEqual(['shop-auth', 'shop-authority', 'shop-ca', 'shop-peer', 'shop-tls']);
  expect(namesOf(OWNED_KINDS.StatefulSet)).toEqual(['shop']);
  expect(namesOf(OWNED_KINDS.Service)).toEqual(['shop', 'shop-headless']);
  expect(namesOf(OWNED_KINDS.PodDisruptionBudget)).toEqual(['shop']);
  expect(JSON.stringify(server.store.list(pathOf(OWNED_KINDS.StatefulSet)))).toContain(
    'registry.example.com/cairn:0.1.0',
  );
  expect(server.requests.filter((request) => request.includes('monitoring.coreos.com'))).toEqual([]);
  expect(errors).toEqual([]);
});

it('the operator is not ready, and shows a stale watch, while it cannot list a kind of which clusters consist', async () => {
  const { runtime, telemetry } = await start({}, BUILT_IN, '/api/v1/pods');
  const http = await telemetry.listen(0);
  onTestFinished(() => void http.close());
  const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${portOf(http)}${path}`)).text();
  await runtime.advance(600_000);
  expect(await page('/readyz')).toBe('not listed yet: pods\n');
  const metrics = await page('/metrics');
  expect(metrics).toContain('\ncairn_operator_watch_stale_seconds{resource="pods"} 600\n');
  expect(metrics).toMatch(/\ncairn_operator_watch_stale_seconds\{resource="statefulsets"\} \d\d?\.\d/);
});

it('the operator ends, to be started again, when the API server serves a further kind', async () => {
  const served = [...BUILT_IN];
  const { runtime, ended } = await start({ tls: { issuerRef: { name: 'ours', kind: 'Issuer' } } }, served);
  let isOver = false;
  void ended.then(() => void (isOver = true));
  await runtime.advance(600_000);
  expect(isOver).toBe(false);
  served.push('cert-manager.io/v1');
  await runtime.advance(600_000);
  expect(isOver).toBe(true);
});

const OPTIONAL = {
  replicas: 1,
  tls: { issuerRef: { name: 'ours', kind: 'Issuer' } },
  auth: { roles: [{ name: 'operators', grants: [{ role: 'admin' }] }] },
  network: {
    external: { domain: 'events.example.com', type: 'ClusterIP', port: 443 },
    ingress: { hostnames: ['cairn.example.com'] },
    gateway: {
      parentRefs: [{ name: 'public' }],
      grpcHostnames: ['grpc.example.com'],
      httpHostnames: ['cairn.example.com'],
      passthrough: true,
    },
  },
  monitoring: { mode: 'Always', scrapeBy: 'PodMonitor' },
};
const NOTHING_OPTIONAL = { replicas: 1, network: { policy: { enabled: false } }, monitoring: { mode: 'Always' } };
const { ServiceAccount: _, StatefulSet: __, ...REMOVABLE } = OWNED_KINDS;

it('the operator deletes objects of each kind when the spec no longer wants them', async () => {
  const served = [...new Set(Object.values(OWNED_KINDS).map(({ apiVersion }) => apiVersion))];
  const { runtime, server, target } = await start(OPTIONAL, served);
  const deletesOf = (kind: Kind): number =>
    server.requests.filter((request) => request.startsWith(`DELETE ${pathOf(kind, { namespace: 'prod' })}/`)).length;
  const countsOf = (count: (kind: Kind) => number): object =>
    Object.fromEntries(Object.entries(REMOVABLE).map(([name, kind]) => [name, count(kind) > 0]));
  const change = async (spec: object): Promise<void> => {
    server.store.merge(target, { spec: null }, 'user');
    server.store.merge(target, { spec: { ...clusterOf({ ...spec }).spec } }, 'user');
    await runtime.advance(60_000);
  };
  await runtime.advance(60_000);
  // The state after a scale-down, which would need nodes.
  const [set] = server.store.list(pathOf(OWNED_KINDS.StatefulSet));
  const budget = { ...target, collection: pathOf(OWNED_KINDS.PodDisruptionBudget) };
  const metadata = { labels: set?.metadata['labels'], ownerReferences: set?.metadata.ownerReferences };
  server.store.create(budget, { metadata }, 'cairn-operator');
  await change(NOTHING_OPTIONAL);
  await change({ ...NOTHING_OPTIONAL, monitoring: { mode: 'Never' } });
  expect(countsOf(deletesOf)).toEqual(countsOf(() => 1));
});

it.each([STATE_VIEW, STATE_CHANGE, PRESENTER])(
  'the operator reports that the source of a $kind is missing',
  async (kind) => {
    const { runtime, server } = await start();
    const target = { namespace: 'prod', name: 'last', collection: pathOf(kind), isStatus: false };
    const source = { configMap: { name: 'none', key: 'component.wasm' } };
    const rollout = { strategy: 'All', timeoutSeconds: 600 };
    const spec = { databases: { names: ['shop'] }, source, rollout, active: true, reclaimPolicy: 'Delete' };
    server.store.create(target, { spec }, 'user');
    await runtime.advance(60_000);
    const { metadata, ...object } = server.store.get(target);
    expect(metadata.finalizers).toHaveLength(1);
    expect(object['status']).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'SourceReady', reason: 'SourceNotFound' })]),
    });
  },
);
