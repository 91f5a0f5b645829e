// Goal: the whole operator makes of a CairnCluster of a few lines what its pods need, and asks only for kinds that the
// API server serves. Method: all controllers in one process, with an API server in memory that has no pods.
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { CAIRN_CLUSTER, type CairnCluster } from '../../../operator/src/api/index.ts';
import { Api, type Kind, pathOf, type Transport, type TransportRequest } from '../../../operator/src/kube/index.ts';
import { OWNED_KINDS } from '../../../operator/src/objects/index.ts';
import { assemble } from '../../../operator/src/operator.ts';
import { readOptions, Telemetry } from '../../../operator/src/process/index.ts';
import { eventually } from '../../support/eventually.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { clusterOf } from '../objects/clusters.ts';

const SECRET: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' };
const BUILT_IN = ['v1', 'apps/v1', 'policy/v1', 'networking.k8s.io/v1'];
const GROUP_PATH = /^\/(?:api|apis\/[^/]+)\/[^/]+$/;

/** Answers which kinds there are; everything else is for the server. */
function withDiscovery(server: MemoryApi): Transport {
  const send = (request: TransportRequest): ReturnType<Transport['send']> => {
    if (!GROUP_PATH.test(request.path)) return server.send(request);
    const version = request.path.replace(/^\/apis?\//, '');
    const kinds = Object.values(OWNED_KINDS).filter(({ apiVersion }) => apiVersion === version);
    const resources = kinds.map(({ plural: name }) => ({ name }));
    const isServed = BUILT_IN.includes(version);
    const body = JSON.stringify(isServed ? { resources } : { reason: 'NotFound', code: 404 });
    return Promise.resolve({ status: isServed ? 200 : 404, body: Readable.from([body]) });
  };
  return { send };
}

it('the operator makes Secrets and objects of a CairnCluster, and says what it waits for', async () => {
  const runtime = new ManualRuntime(1);
  const server = new MemoryApi(runtime);
  const { metadata, spec } = clusterOf();
  const place = { namespace: metadata.namespace, name: metadata.name };
  server.store.create({ ...place, collection: pathOf(CAIRN_CLUSTER), isStatus: false }, { spec: { ...spec } }, 'user');
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const errors: string[] = [];
  const operator = await assemble(readOptions(['--pod-name=a', '--image=registry.example.com/cairn']), {
    api: new Api(withDiscovery(server), runtime),
    telemetry: new Telemetry(),
    onError: (error) => void errors.push(String(error)),
  });
  void operator.run(over.signal);
  const namesOf = (kind: Kind): readonly string[] =>
    server.store.list(pathOf(kind)).map((object) => object.metadata.name);
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
