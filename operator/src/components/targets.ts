/** The databases of a component: which are selected, and what they and their nodes have of it. */
import type { CairnCluster, EventDatabase } from '../api/index.ts';
import type { Calls, ComponentKind, Components, Holder } from '../client/index.ts';
import { asError, type Informer } from '../kube/index.ts';
import {
  type ClusterState,
  claimOn,
  conditionOf,
  inNamespace,
  matches,
  type ResourceOptions,
} from '../reconcile/index.ts';
import { componentNameOf } from './kinds.ts';
import type { ComponentResource, Published, Target, World } from './world.ts';

export interface ComponentControllerOptions extends ResourceOptions<ComponentResource, Components> {
  readonly kind: ComponentKind;
  readonly databases: Informer<EventDatabase>;
  /** Calls of a component on the nodes of clusters; undefined when one does not answer. */
  readonly callsOf: (clusters: readonly CairnCluster[], digest: string) => Promise<Calls | undefined>;
}

export interface FoundTargets extends Pick<World, 'targets' | 'missing'> {
  /** Clients of their clusters, by the names of EventDatabases. */
  readonly components: ReadonlyMap<string, Components>;
  /** Their clusters, as far as they answer. */
  readonly clusters: readonly CairnCluster[];
  readonly error: Error | undefined;
}

interface Asked {
  readonly cluster: CairnCluster;
  readonly components: Components;
  readonly holders: ReadonlyMap<string, readonly Holder[]>;
}

type Answer = Asked | ClusterState | Error;

export class Targets {
  readonly #options: ComponentControllerOptions;
  /** Versions that were published and are not in the status yet, by uid and database. */
  readonly #published = new Map<string, Published>();

  constructor(options: ComponentControllerOptions) {
    this.#options = options;
  }

  record({ metadata: { uid } }: ComponentResource, { name }: Target, published: Published): void {
    this.#published.set(`${uid} ${name}`, published);
  }

  async of(resource: ComponentResource): Promise<FoundTargets> {
    const { namespace } = resource.metadata;
    const all = inNamespace(this.#options.databases, namespace);
    const selected = all.filter((database) => selects(resource, database));
    const present = new Set(selected.map(({ metadata }) => metadata.name));
    const missing = (resource.spec.databases.names ?? []).filter((name) => !present.has(name));
    const answers = new Map<string, Answer>();
    const components = new Map<string, Components>();
    const targets: Target[] = [];
    let error: Error | undefined;
    for (const database of selected.toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))) {
      const cluster = database.spec.clusterRef.name;
      const answer = answers.get(cluster) ?? (await this.#ask(namespace, cluster));
      answers.set(cluster, answer);
      if ('components' in answer) components.set(database.metadata.name, answer.components);
      const state = await this.#stateOf(resource, database, answer).catch((thrown: unknown) => {
        error ??= asError(thrown);
        return { problem: `the cluster does not answer: ${asError(thrown).message}`, isGone: false };
      });
      targets.push({ ...this.#baseOf(resource, database), state });
    }
    const clusters = [...answers.values()].flatMap((answer) => ('components' in answer ? [answer.cluster] : []));
    return { targets, missing, components, clusters, error };
  }

  async #ask(namespace: string, name: string): Promise<Answer> {
    const cluster = await this.#options.clusters.find(namespace, name);
    if (cluster.kind !== 'ready') return cluster;
    try {
      const components = await this.#options.connect(cluster.cluster);
      return { cluster: cluster.cluster, components, holders: await components.holders() };
    } catch (error) {
      return asError(error);
    }
  }

  async #stateOf(resource: ComponentResource, database: EventDatabase, answer: Answer): Promise<Target['state']> {
    const same = inNamespace(this.#options.informer, resource.metadata.namespace).filter(
      (other) => componentNameOf(other) === componentNameOf(resource) && selects(other, database),
    );
    const claimedBy = claimOn(resource, same);
    if (claimedBy !== undefined)
      return { problem: `${claimedBy} publishes a component of this name already`, isGone: true };
    if (answer instanceof Error) throw answer;
    if ('kind' in answer) return { problem: 'the cluster is not ready', isGone: answer.kind === 'gone' };
    if (conditionOf(database, 'Ready')?.status !== 'True')
      return { problem: 'the database is not ready', isGone: false };
    const { id } = this.#baseOf(resource, database);
    const versions = await answer.components.list(id);
    return { versions, holders: answer.holders.get(id.database) ?? [] };
  }

  #baseOf(resource: ComponentResource, { metadata: { name, labels }, spec }: EventDatabase): Omit<Target, 'state'> {
    const recorded = resource.status?.databases?.find((entry) => entry.name === name);
    const { publication, publishedVersion: version } = recorded ?? {};
    const known = publication !== undefined && version !== undefined ? { publication, version } : undefined;
    const id = { database: spec.name ?? name, kind: this.#options.kind, name: componentNameOf(resource) };
    return { name, labels, id, published: this.#published.get(`${resource.metadata.uid} ${name}`) ?? known };
  }
}

function selects({ spec: { databases } }: ComponentResource, { metadata: { name, labels } }: EventDatabase): boolean {
  const { names, selector } = databases;
  return names === undefined ? selector !== undefined && matches(selector, labels) : names.includes(name);
}
