/** Puts the operator together: its informers, its controllers, and what they share. */
import { CAIRN_CLUSTER, type CairnCluster } from './api/index.ts';
import { SecretsController } from './certificates/index.ts';
import {
  Connections,
  callsOf,
  GrpcClusterAdmin,
  GrpcComponents,
  GrpcDatabases,
  GrpcKeys,
  Identities,
} from './client/index.ts';
import { ClusterInformers, clusterController } from './cluster/index.ts';
import {
  type Api,
  EventRecorder,
  Informer,
  type Kind,
  type KubeObject,
  pathOf,
  sourceOf,
  unless,
} from './kube/index.ts';
import { type ClusterFacts, type DueFacts, groupOf, OWNED_KINDS, objectsOf, recoveryPodOf } from './objects/index.ts';
import { type OperatorOptions, OperatorProcess, type Telemetry } from './process/index.ts';
import { controlResources } from './resources.ts';

const NAME = 'cairn-operator';

export interface OperatorPorts {
  readonly api: Api;
  readonly telemetry: Telemetry;
  readonly onError: (error: unknown) => void;
}

/** The kinds of owned objects that the API server serves now. */
async function servedKinds(api: Api): Promise<readonly Kind[]> {
  const kinds = Object.values(OWNED_KINDS);
  const served = new Set<string>();
  for (const apiVersion of new Set(kinds.map((kind) => kind.apiVersion))) {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const found = await api.get<{ readonly resources: readonly { readonly name: string }[] }>(path).catch(unless(404));
    for (const { name } of found?.resources ?? []) served.add(`${apiVersion} ${name}`);
  }
  return kinds.filter(({ apiVersion, plural }) => served.has(`${apiVersion} ${plural}`));
}

export async function assemble(options: OperatorOptions, ports: OperatorPorts): Promise<OperatorProcess> {
  const { api, onError } = ports;
  const { watchNamespace: namespace, podName, podNamespace } = options;
  const operator = new OperatorProcess({
    ...ports,
    namespace: podNamespace,
    leaseName: namespace === undefined ? NAME : `${NAME}-${namespace}`,
    identity: podName,
  });
  const recorder = (controller: string): EventRecorder =>
    new EventRecorder(api, { controller: `cairn.dev/${controller}`, instance: podName, onError });
  const identities = new Identities(api);
  const informers = await controlClusters(operator, options, { ...ports, recorder, identities });
  const connections = new Connections(identities);
  informers.clusters.subscribe({ onDelete: (cluster) => connections.close(cluster) });
  controlResources({
    api,
    clusters: informers.clusters,
    follow: <Item extends KubeObject>(kind: Kind) =>
      operator.follow(kind.plural, new Informer<Item>(api, pathOf(kind, { namespace }), { onError })),
    control: (controller) => operator.control(controller, controller.sources),
    recorder,
    databasesOf: async (cluster) => new GrpcDatabases(await connections.to(cluster)),
    keysOf: async (cluster) => new GrpcKeys(await connections.to(cluster)),
    componentsOf: async (cluster) => new GrpcComponents(await connections.to(cluster)),
    callsOf: async (clusters, digest) => {
      const nodes = await Promise.all(clusters.map((cluster) => identities.metricsOf(cluster)));
      return callsOf(nodes.flat(), digest);
    },
  });
  return operator;
}

interface ClusterPorts extends OperatorPorts {
  readonly recorder: (controller: string) => EventRecorder;
  readonly identities: Identities;
}

/** Secrets have a controller of their own: they are read by name, and their pods wait for them. */
async function controlClusters(
  operator: OperatorProcess,
  { image, watchNamespace: namespace, podNamespace }: OperatorOptions,
  { api, onError, recorder, identities }: ClusterPorts,
): Promise<ClusterInformers> {
  const served = await servedKinds(api);
  // A kind that is served later, such as that of cert-manager, needs an informer: the operator starts again.
  operator.endWhen(async () => (await servedKinds(api)).some((kind) => !served.includes(kind)));
  const servedGroups = new Set(served.map(groupOf));
  const readsKubeNodes = namespace === undefined;
  const informers = new ClusterInformers(api, { onError, owned: served, namespace, readsKubeNodes });
  operator.follow(CAIRN_CLUSTER.plural, informers.clusters);
  for (const [resource, informer] of informers.others) operator.follow(resource, informer, { isReported: false });
  const events = recorder('clusters');
  const secrets = new SecretsController({ api, clusterOf: (key) => informers.cluster(key), events });
  operator.control(secrets, [sourceOf(informers.clusters)]);
  const knownOf = ({ status }: CairnCluster): Omit<ClusterFacts, keyof DueFacts> => ({
    ...(status?.clusterID !== undefined && { clusterID: status.clusterID }),
    servedGroups,
    defaultImage: image,
    operatorNamespace: podNamespace,
  });
  const ofClusters = clusterController({
    api,
    objects: informers,
    adminOf: async (cluster, pods, signal) => {
      const nodes = await identities.ofPods(cluster, pods);
      return new GrpcClusterAdmin(nodes, signal);
    },
    render: (cluster, facts) => objectsOf(cluster, { ...facts, ...knownOf(cluster) }),
    renderRecovery: (cluster, run) => recoveryPodOf(cluster, knownOf(cluster), run),
    secretsOf: (cluster) => secrets.stateOf(cluster),
    events,
  });
  operator.control(ofClusters, informers.sources);
  return informers;
}
