/** The controller of one kind of component: observes databases and nodes, and carries out what plan.ts wants. */
import type { CairnCluster, EventDatabase } from '../api/index.ts';
import type { Calls, Components } from '../client/index.ts';
import { asError, keyOf, sourceOf } from '../kube/index.ts';
import { conditionOf, inNamespace, type ResourceController, resourceController } from '../reconcile/index.ts';
import { publicationDigest, publicationOf, RESOURCES } from './kinds.ts';
import { type Action, type DatabaseAction, FINALIZER, plan } from './plan.ts';
import { progressOf, waitOf } from './rollout.ts';
import { type LoadedSource, loadedFrom, SourceProblem } from './source.ts';
import { statusOf } from './status.ts';
import { type ComponentControllerOptions, Targets } from './targets.ts';
import type { ComponentResource, Source, Target, World } from './world.ts';

interface Observed extends World {
  readonly loaded: LoadedSource | undefined;
  /** Clients by the names of EventDatabases. */
  readonly components: ReadonlyMap<string, Components>;
  readonly failures: Map<string, Error>;
  /** Errors after which the queue retries sooner than the next regular check. */
  readonly error: Error | undefined;
}

export function componentController(options: ComponentControllerOptions): ResourceController<Observed, Action> {
  const { informer, databases, clusters } = options;
  const kind = RESOURCES[options.kind];
  const work = new ComponentWork(options);
  const within = (namespace: string): readonly string[] => inNamespace(informer, namespace).map(keyOf);
  return resourceController(options, {
    name: kind.plural,
    kind,
    manager: `cairn-${kind.kind}-status`,
    finalizer: FINALIZER,
    sources: [
      sourceOf(databases, ({ metadata }) => within(metadata.namespace), traitsOf),
      clusters.source(({ metadata }) => within(metadata.namespace)),
    ],
    observe: (resource) => work.observe(resource),
    plan,
    act: (action, world) => work.act(action, world),
    // Actions on databases name a version, or are the same publication.
    isRepeatable: (action) => action.kind !== 'hold' && action.kind !== 'release',
    isFailing: ({ failures }) => failures.size > 0,
    waitOf,
    statusOf,
    errorOf: ({ error, failures }) => error ?? [...failures.values()][0],
  });
}

class ComponentWork {
  readonly #options: ComponentControllerOptions;
  readonly #targets: Targets;

  constructor(options: ComponentControllerOptions) {
    this.#options = options;
    this.#targets = new Targets(options);
  }

  async observe(resource: ComponentResource): Promise<Observed> {
    const isDeleted = resource.metadata.deletionTimestamp !== undefined;
    const { loaded, source, error: sourceError } = isDeleted ? DELETED : await this.#sourceOf(resource);
    const { targets, missing, components, clusters, error } = await this.#targets.of(resource);
    const wallMs = this.#options.api.runtime.wallMs();
    const failures = new Map<string, Error>();
    const world = { resource, source, targets, missing, failures, calls: undefined, wallMs };
    const calls = await this.#measure(world, clusters);
    return { ...world, loaded, components, calls, error: sourceError ?? error };
  }

  /** Only a rollout that is under way is measured. */
  async #measure(world: World, clusters: readonly CairnCluster[]): Promise<Calls | undefined> {
    const { source } = world;
    if ('problem' in source || progressOf(world, source).verdict === undefined) return undefined;
    return this.#options.callsOf(clusters, source.digest).catch(() => undefined);
  }

  async act(action: Action, world: Observed): Promise<void> {
    if (action.kind === 'hold' || action.kind === 'release') return;
    const id = action.kind === 'publish' ? action.target.id : action.id;
    const target = world.targets.find((one) => one.id === id);
    if (target === undefined || world.failures.has(target.name)) return;
    // A database that fails does not hold up the others.
    await this.#change(action, target, world).catch((error: unknown) => {
      world.failures.set(target.name, asError(error));
    });
  }

  async #change(action: DatabaseAction, target: Target, world: Observed): Promise<void> {
    const { kind } = this.#options;
    const { resource: object, components, loaded } = world;
    const { id } = target;
    const client = components.get(target.name);
    if (client === undefined) throw new Error(`${id.database} is not reachable`);
    if (action.kind === 'publish') {
      if (loaded === undefined) throw new Error('the source is not loaded');
      const version = await client.publish(id, publicationOf(kind, object), await loaded.load());
      this.#targets.record(object, target, { publication: action.wanted.publication, version });
      this.#tell(object, 'Published', `version ${version} of ${id.name} in ${id.database}`);
    } else if (action.kind === 'activate') {
      await client.activate(id, action.version, action.maintenance);
      this.#tell(object, 'Activated', `version ${action.version} of ${id.name} in ${id.database}`);
    } else if (action.kind === 'deactivate') {
      await client.deactivate(id, action.version);
      this.#tell(object, 'Deactivated', `version ${action.version} of ${id.name} in ${id.database}`);
    } else await client.delete(id, action.version);
  }

  #tell(object: ComponentResource, reason: string, note: string): void {
    this.#options.events.record(object, { type: 'Normal', action: 'Rollout', reason, note });
  }

  async #sourceOf(resource: ComponentResource): Promise<Sourced> {
    const { metadata, status } = resource;
    const isResolved =
      status?.observedGeneration === metadata.generation && conditionOf(resource, 'SourceReady')?.status === 'True';
    try {
      const loaded = await loadedFrom(this.#options.api, resource, isResolved ? status.digest : undefined);
      const publication = publicationDigest(publicationOf(this.#options.kind, resource), loaded.digest);
      return { loaded, source: { digest: loaded.digest, publication }, error: undefined };
    } catch (thrown) {
      const error = asError(thrown);
      const reason = error instanceof SourceProblem ? error.reason : 'SourceUnreachable';
      return { loaded: undefined, source: { problem: [reason, error.message] }, error };
    }
  }
}

interface Sourced {
  readonly loaded: LoadedSource | undefined;
  readonly source: Source;
  readonly error: Error | undefined;
}

const DELETED: Sourced = { loaded: undefined, source: { problem: ['Deleting', 'being deleted'] }, error: undefined };

/** Fields of a database that change whether it is selected or ready. */
function traitsOf(database: EventDatabase): string {
  const { databaseID } = database.status ?? {};
  return JSON.stringify([database.metadata.labels, databaseID, conditionOf(database, 'Ready')?.status]);
}
