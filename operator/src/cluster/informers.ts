/** Informers of the objects that the controller of clusters reads. */
import { CAIRN_CLUSTER, type CairnCluster } from '../api/index.ts';
import {
  type Api,
  type Followed,
  Informer,
  isOwnedBy,
  type Kind,
  type KubeObject,
  keyOf,
  pathOf,
  type Source,
  sourceOf,
} from '../kube/index.ts';
import { type Pool, setName } from '../objects/index.ts';
import { CLAIM, type Claim, KUBE_NODE, type KubeNode, POD, type Pod, type StatefulSet } from './kinds.ts';
import type { OwnedObject, World } from './world.ts';

/** All objects of clusters have it. */
const SELECTOR = 'labelSelector=app.kubernetes.io/name=cairn';
const INSTANCE = 'app.kubernetes.io/instance';

export interface InformersOptions {
  readonly onError: (error: unknown) => void;
  /** Kinds of owned objects that the Kubernetes cluster serves. */
  readonly owned: readonly Kind[];
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly readsKubeNodes: boolean;
}

/** Objects with the labels of a cluster, and the Kubernetes nodes if the operator may read them. */
export type ClusterObjects = Pick<World, 'pods' | 'claims' | 'sets' | 'owned' | 'kubeNodes'>;

export class ClusterInformers {
  readonly clusters: Informer<CairnCluster>;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<Claim>;
  readonly #owned: ReadonlyMap<Kind, Informer<OwnedObject>>;
  readonly #kubeNodes: Informer<KubeNode> | undefined;

  constructor(api: Api, { onError, owned, namespace, readsKubeNodes }: InformersOptions) {
    const of = <Item extends KubeObject>(kind: Kind): Informer<Item> =>
      new Informer<Item>(api, `${pathOf(kind, { namespace })}?${SELECTOR}`, { onError });
    this.clusters = new Informer(api, pathOf(CAIRN_CLUSTER, { namespace }), { onError });
    this.#pods = of(POD);
    this.#claims = of(CLAIM);
    this.#owned = new Map(owned.map((kind) => [kind, of<OwnedObject>(kind)]));
    this.#kubeNodes = readsKubeNodes ? new Informer(api, pathOf(KUBE_NODE), { onError }) : undefined;
  }

  /** All informers but that of the clusters, by the plurals of their kinds. They must run, too. */
  get others(): ReadonlyMap<string, Followed> {
    return new Map<string, Followed>([
      [POD.plural, this.#pods],
      [CLAIM.plural, this.#claims],
      ...[...this.#owned].map(([{ plural }, informer]) => [plural, informer] as const),
      ...(this.#kubeNodes === undefined ? [] : [[KUBE_NODE.plural, this.#kubeNodes] as const]),
    ]);
  }

  /** Changes of a cluster and of its objects. Kubernetes nodes change every few seconds, so they are not among them. */
  get sources(): readonly Source[] {
    return [
      sourceOf(this.clusters),
      sourceOf(this.#pods, clusterKeysOf),
      sourceOf(this.#claims, clusterKeysOf),
      ...[...this.#owned.values()].map((each) => sourceOf(each, clusterKeysOf)),
      ...(this.#kubeNodes === undefined ? [] : [sourceOf(this.#kubeNodes, () => [])]),
    ];
  }

  cluster(key: string): CairnCluster | undefined {
    return this.clusters.items.get(key);
  }

  of(cluster: CairnCluster): ClusterObjects {
    const key = keyOf(cluster);
    const labelled = <Item extends KubeObject>({ items }: Informer<Item>): readonly Item[] =>
      [...items.values()].filter((object) => clusterKeysOf(object).includes(key));
    const owned = [...this.#owned].flatMap(([of, informer]) =>
      labelled(informer)
        .filter((object) => isOwnedBy(object, cluster))
        // Items of lists have no kind.
        .map((object) => ({ ...object, kind: of.kind, of })),
    );
    const sets = owned.filter((object): object is OwnedObject & StatefulSet => object.kind === 'StatefulSet');
    const setOf = (pool: Pool): StatefulSet | undefined =>
      sets.find(({ metadata }) => metadata.name === setName(cluster, pool));
    const nodes = this.#kubeNodes && [...this.#kubeNodes.items.values()];
    const kubeNodes = nodes && new Map(nodes.map((node) => [node.metadata.name, node]));
    return {
      pods: labelled(this.#pods),
      claims: labelled(this.#claims),
      sets: { voters: setOf('voters'), learners: setOf('learners') },
      owned,
      kubeNodes,
    };
  }
}

function clusterKeysOf({ metadata: { namespace, labels } }: KubeObject): readonly string[] {
  const name = labels?.[INSTANCE];
  return name === undefined ? [] : [keyOf({ metadata: { namespace, name } })];
}
