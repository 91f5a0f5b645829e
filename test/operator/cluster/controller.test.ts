// Goal: the controller works on the machinery: informers, the loop, and the objects of a real CairnCluster.
// Method: an API server in memory, without controllers of Kubernetes.
import { expect, it } from 'vitest';
import { ClusterInformers, clusterController } from '../../../operator/src/cluster/index.ts';
import { Api, ControllerLoop, type Pass } from '../../../operator/src/kube/index.ts';
import { OWNED_KINDS, objectsOf } from '../../../operator/src/objects/index.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { clusterOf, factsOf } from '../objects/clusters.ts';

const MINUTE_MS = 60_000;

it('applies the objects of a CairnCluster and repairs a changed one; then it writes nothing (KC7)', async () => {
  const runtime = new ManualRuntime();
  const server = new MemoryApi(runtime);
  const api = new Api(server, runtime);
  const cluster = clusterOf();
  const { namespace, name } = cluster.metadata;
  const target = { collection: '/apis/cairn.dev/v1alpha1/cairnclusters', namespace, name, isStatus: false };
  server.store.create(target, { ...cluster }, 'test');
  const passes: Pass[] = [];
  const over = new AbortController();
  const onError = (error: unknown): void => expect(error).toBeUndefined();
  const served = [OWNED_KINDS.ServiceAccount, OWNED_KINDS.ConfigMap, OWNED_KINDS.Service, OWNED_KINDS.NetworkPolicy];
  const owned = [...served, OWNED_KINDS.PodDisruptionBudget, OWNED_KINDS.StatefulSet];
  const informers = new ClusterInformers(api, { onError, owned, readsKubeNodes: true });
  const controller = clusterController({
    api,
    objects: informers,
    adminOf: () => Promise.reject(new Error('no pods run')),
    render: (found, facts) => objectsOf(found, factsOf(found, facts)),
    kindOf: ({ kind }) => OWNED_KINDS[kind as keyof typeof OWNED_KINDS],
    extrasOf: () => ({ tls: ['Unknown', 'NotObserved', ''] }),
    usageOf: async () => new Map(),
    events: { record: () => undefined },
  });
  const loop = new ControllerLoop(controller, {
    runtime,
    mayAct: () => true,
    onPass: (pass) => void passes.push(pass),
  });
  void informers.run(over.signal);
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
