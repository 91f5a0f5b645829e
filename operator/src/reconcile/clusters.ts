/** The clusters that other resources refer to. */
import { CAIRN_CLUSTER, type CairnCluster, type EventDatabase } from '../api/index.ts';
import { type Api, type Finding, type Informer, type KubeObject, keyOf, type Source, sourceOf } from '../kube/index.ts';
import { conditionOf } from './status.ts';

/** Gone: there is no such cluster, or it is being deleted. */
export type ClusterState =
  | { readonly kind: 'gone' }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'ready'; readonly cluster: CairnCluster };

export class Clusters {
  readonly #api: Api;
  readonly #informer: Informer<CairnCluster>;

  constructor(api: Api, informer: Informer<CairnCluster>) {
    this.#api = api;
    this.#informer = informer;
  }

  /** The informer may lag behind, so the server is asked before a cluster counts as gone. */
  async find(namespace: string, name: string): Promise<ClusterState> {
    const known = this.#informer.items.get(keyOf({ metadata: { namespace, name } }));
    if (known !== undefined && known.metadata.deletionTimestamp === undefined) return stateOf(known);
    return stateOf(await this.#api.find<CairnCluster>(CAIRN_CLUSTER, { namespace, name }));
  }

  /** Keys that depend on a cluster, when it appears, becomes ready or unready, or is deleted. */
  source(keysOf: (cluster: CairnCluster) => readonly string[]): Source {
    return sourceOf(this.#informer, keysOf, (cluster) => stateOf(cluster).kind);
  }
}

export function readyCluster(state: ClusterState): CairnCluster {
  if (state.kind !== 'ready') throw new Error('the cluster is not ready');
  return state.cluster;
}

/** The finding for a resource whose cluster cannot be asked. */
export function lackOfCluster(cluster: ClusterState, name: string): Finding | undefined {
  if (cluster.kind === 'gone') return ['False', 'ClusterNotFound', `there is no CairnCluster ${name}`];
  if (cluster.kind === 'ready') return undefined;
  return ['False', 'ClusterNotReady', `the cluster ${name} is not ready: ${cluster.message}`];
}

export function inNamespace<Item extends KubeObject>({ items }: Informer<Item>, namespace: string): readonly Item[] {
  return [...items.values()].filter(({ metadata }) => metadata.namespace === namespace);
}

export function ofCluster<Item extends KubeObject & { readonly spec: Pick<EventDatabase['spec'], 'clusterRef'> }>(
  informer: Informer<Item>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): readonly Item[] {
  return inNamespace(informer, namespace).filter(({ spec }) => spec.clusterRef.name === name);
}

function stateOf(cluster: CairnCluster | undefined): ClusterState {
  if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return { kind: 'gone' };
  const conditions = ['Ready', 'QuorumHealthy'].map((type) => conditionOf(cluster, type));
  if (conditions.some((condition) => condition?.status === 'True')) return { kind: 'ready', cluster };
  return { kind: 'waiting', message: conditions[0]?.message ?? 'the cluster has not been started yet' };
}
