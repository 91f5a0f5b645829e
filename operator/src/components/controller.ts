/** The controller of one kind of component: observes databases and nodes, and carries out what plan.ts wants. */
import type { CairnCluster, EventDatabase } from '../api/index.ts';
import type { ComponentKind, Components, Holder } from '../client/index.ts';
import {
  type Api,
  type Controller,
  type EventRecorder,
  type Informer,
  type Source as Keys,
  keyOf,
  sourceOf as keysOf,
  type Outcome,
} from '../kube/index.ts';
import {
  type ClusterState,
  type Clusters,
  conditionOf,
  matches,
  reportStatus,
  setFinalizer,
} from '../reconcile/index.ts';
import { componentNameOf, publicationDigest, publicationOf, RESOURCES } from './kinds.ts';
import {
  type Action,
  type ComponentResource,
  type DatabaseAction,
  FINALIZER,
  type Published,
  plan,
  type Source,
  type Target,
  type World,
} from './plan.ts';
import { type LoadedSource, SourceProblem, sourceOf } from './source.ts';
import { statusOf } from './status.ts';

export interface ComponentControllerOptions {
  readonly api: Api;
  readonly kind: ComponentKind;
  readonly informer: Informer<ComponentResource>;
  readonly databases: Informer<EventDatabase>;
  readonly clusters: Clusters;
  readonly connect: (cluster: CairnCluster) => Promise<Components>;
  readonly events: EventRecorder;
}

interface Observed extends World {
  readonly loaded: LoadedSource | undefined;
  /** Clusters by the names of EventDatabases. */
  readonly components: ReadonlyMap<string, Components>;
  /** Errors after which the queue retries sooner than the next regular check. */
  readonly error: Error | undefined;
}

interface Step {
  readonly action: Action;
  readonly world: Observed;
}

/** What a pass has asked of a cluster. */
interface Asked {
  readonly components: Components;
  readonly holders: ReadonlyMap<string, readonly Holder[]>;
}

export class ComponentController implements Controller<Observed, Step> {
  readonly name: string;
  readonly #options: ComponentControllerOptions;
  /** Versions that were published and are not in the status yet, by uid and database. */
  readonly #published = new Map<string, Published>();

  constructor(options: ComponentControllerOptions) {
    this.#options = options;
    this.name = RESOURCES[options.kind].plural;
  }

  get sources(): readonly Keys[] {
    const { informer, databases, clusters } = this.#options;
    const within = (namespace: string): readonly string[] =>
      [...informer.items.values()].filter(({ metadata }) => metadata.namespace === namespace).map(keyOf);
    const changed: Keys = {
      synced: databases.synced,
      subscribe: (add) => {
        const tell = ({ metadata }: EventDatabase): void => within(metadata.namespace).forEach(add);
        const onSet = (object: EventDatabase, before?: EventDatabase): void => {
          if (before === undefined || traitsOf(before) !== traitsOf(object)) tell(object);
        };
        return databases.subscribe({ onSet, onDelete: tell });
      },
    };
    return [keysOf(informer), changed, clusters.source(({ metadata }) => within(metadata.namespace))];
  }

  async observe(key: string): Promise<Observed | undefined> {
    const { api, informer } = this.#options;
    const resource = informer.items.get(key);
    if (resource === undefined) return undefined;
    const isDeleted = resource.metadata.deletionTimestamp !== undefined;
    const { loaded, source, error: sourceError } = isDeleted ? DELETED : await this.#sourceOf(resource);
    const { targets, missing, components, error } = await this.#targetsOf(resource);
    const wallMs = api.runtime.wallMs();
    return { resource, source, loaded, targets, missing, components, error: sourceError ?? error, wallMs };
  }

  plan(world: Observed): readonly Step[] {
    return plan(world).map((action) => ({ action, world }));
  }

  /** Actions on databases can be repeated: each names a version, or is the same publication. */
  isIrreversible({ action: { kind } }: Step): boolean {
    return ['hold', 'release', 'wait'].includes(kind);
  }

  async act({ action, world }: Step): Promise<void> {
    const { api, kind } = this.#options;
    const { resource: object } = world;
    if (action.kind === 'wait') return;
    if (action.kind === 'hold' || action.kind === 'release')
      await setFinalizer(api, { kind: RESOURCES[kind], object }, FINALIZER, action.kind === 'hold');
    else await this.#change(action, world);
  }

  async #change(action: DatabaseAction, { resource: object, components, loaded, targets }: Observed): Promise<void> {
    const { kind } = this.#options;
    const id = action.kind === 'publish' ? action.target.id : action.id;
    const target = targets.find((one) => one.id === id);
    const client = components.get(target?.name ?? '');
    if (client === undefined || target === undefined) throw new Error(`${id.database} is not reachable`);
    if (action.kind === 'publish') {
      if (loaded === undefined) throw new Error('the source is not loaded');
      const version = await client.publish(id, publicationOf(kind, object), await loaded.load());
      this.#published.set(recordKey(object, target.name), { publication: action.wanted.publication, version });
      this.#tell(object, 'Published', `version ${version} of ${id.name} in ${id.database}`);
    } else if (action.kind === 'activate') {
      await client.activate(id, action.version, action.maintenance);
      this.#tell(object, 'Activated', `version ${action.version} of ${id.name} in ${id.database}`);
    } else if (action.kind === 'deactivate') await client.deactivate(id, action.version);
    else await client.delete(id, action.version);
  }

  /** A pass that acted reports nothing, unless it waits for nodes: the next pass observes what has become of it. */
  async report(world: Observed, { plan: steps, done, failure }: Outcome<Step>): Promise<void> {
    const { api, kind } = this.#options;
    if (done > 0 && steps[0]?.action.kind !== 'wait') return;
    const status = statusOf(world, failure?.message);
    const { kind: name } = RESOURCES[kind];
    await reportStatus(api, { kind: RESOURCES[kind], object: world.resource, status, manager: `cairn-${name}-status` });
    if (world.error !== undefined) throw world.error;
  }

  #tell(object: ComponentResource, reason: string, note: string): void {
    const { apiVersion, kind } = RESOURCES[this.#options.kind];
    this.#options.events.record({ ...object, apiVersion, kind }, { type: 'Normal', action: 'Rollout', reason, note });
  }

  async #sourceOf(resource: ComponentResource): Promise<Sourced> {
    const { metadata, status } = resource;
    const isResolved =
      status?.observedGeneration === metadata.generation && conditionOf(resource, 'SourceReady')?.status === 'True';
    try {
      const loaded = await sourceOf(this.#options.api, resource, isResolved ? status.digest : undefined);
      const publication = publicationDigest(publicationOf(this.#options.kind, resource), loaded.digest);
      return { loaded, source: { digest: loaded.digest, publication }, error: undefined };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const reason = error instanceof SourceProblem ? error.reason : 'SourceUnreachable';
      return { loaded: undefined, source: { problem: [reason, error.message] }, error };
    }
  }

  async #targetsOf(resource: ComponentResource) {
    const { databases } = this.#options;
    const { namespace } = resource.metadata;
    const { names, selector } = resource.spec.databases;
    const all = [...databases.items.values()].filter(({ metadata }) => metadata.namespace === namespace);
    const selected = all.filter(({ metadata: { name, labels } }) =>
      names === undefined ? selector !== undefined && matches(selector, labels) : names.includes(name),
    );
    const missing = (names ?? []).filter((name) => !selected.some(({ metadata }) => metadata.name === name));
    const asked = new Map<string, Promise<Asked | ClusterState | Error>>();
    const components = new Map<string, Components>();
    let error: Error | undefined;
    const targets: Target[] = [];
    for (const database of selected.toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))) {
      const cluster = database.spec.clusterRef.name;
      const asking = asked.get(cluster) ?? this.#ask(namespace, cluster);
      asked.set(cluster, asking);
      const answer = await asking;
      if (answer instanceof Error) error = answer;
      if ('components' in answer) components.set(database.metadata.name, answer.components);
      const target = await this.#targetOf(resource, database, answer).catch((thrown: unknown) => {
        error = thrown instanceof Error ? thrown : new Error(String(thrown));
        return this.#problemOf(resource, database, error.message);
      });
      targets.push(target);
    }
    return { targets, missing, components, error };
  }

  async #ask(namespace: string, name: string): Promise<Asked | ClusterState | Error> {
    const cluster = await this.#options.clusters.find(namespace, name);
    if (cluster.kind !== 'ready') return cluster;
    try {
      const components = await this.#options.connect(cluster.cluster);
      return { components, holders: await components.holders() };
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #targetOf(
    resource: ComponentResource,
    database: EventDatabase,
    answer: Asked | ClusterState | Error,
  ): Promise<Target> {
    if (answer instanceof Error)
      return this.#problemOf(resource, database, `the cluster does not answer: ${answer.message}`);
    if ('kind' in answer)
      return this.#problemOf(resource, database, 'the cluster is not ready', answer.kind === 'gone');
    if (conditionOf(database, 'Ready')?.status !== 'True')
      return this.#problemOf(resource, database, 'the database is not ready');
    const { id, name, published } = this.#targetBase(resource, database);
    const versions = await answer.components.list(id);
    return { id, name, published, state: { versions, holders: answer.holders.get(id.database) ?? [] } };
  }

  #problemOf(resource: ComponentResource, database: EventDatabase, problem: string, isGone = false): Target {
    return { ...this.#targetBase(resource, database), state: { problem, isGone } };
  }

  #targetBase(resource: ComponentResource, { metadata, spec }: EventDatabase): Omit<Target, 'state'> {
    const { name } = metadata;
    const recorded = resource.status?.databases?.find((entry) => entry.name === name);
    const { publication, publishedVersion: version } = recorded ?? {};
    const known = publication !== undefined && version !== undefined ? { publication, version } : undefined;
    const id = { database: spec.name ?? name, kind: this.#options.kind, name: componentNameOf(resource) };
    return { name, id, published: this.#published.get(recordKey(resource, name)) ?? known };
  }
}

interface Sourced {
  readonly loaded: LoadedSource | undefined;
  readonly source: Source;
  readonly error: Error | undefined;
}

const DELETED: Sourced = { loaded: undefined, source: { problem: ['Deleting', 'being deleted'] }, error: undefined };

function recordKey({ metadata: { uid } }: ComponentResource, database: string): string {
  return `${uid} ${database}`;
}

/** What selection and readiness of a database depend on. */
function traitsOf(database: EventDatabase): string {
  const { databaseID } = database.status ?? {};
  return JSON.stringify([database.metadata.labels, databaseID, conditionOf(database, 'Ready')?.status]);
}
