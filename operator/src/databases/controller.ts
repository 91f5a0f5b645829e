/** The controller of EventDatabases: observes a database, and carries out what plan.ts wants. */
import { type CairnCluster, EVENT_DATABASE, type EventDatabase } from '../api/index.ts';
import { type Database, type Databases, failedWith } from '../client/index.ts';
import {
  type Api,
  asError,
  type Controller,
  type EventRecorder,
  type EventText,
  type Informer,
  keyOf,
  type Outcome,
  type Source,
  sourceOf,
} from '../kube/index.ts';
import { type Clusters, type Finding, oldest, reportStatus, setFinalizer, writeStatus } from '../reconcile/index.ts';
import {
  type Action,
  creating,
  databaseNameOf,
  exists,
  FINALIZER,
  type Found,
  isCreating,
  plan,
  statusOf,
  statusWith,
  type World,
} from './plan.ts';

export interface DatabaseControllerOptions {
  readonly api: Api;
  readonly informer: Informer<EventDatabase>;
  readonly clusters: Clusters;
  readonly connect: (cluster: CairnCluster) => Promise<Databases>;
  readonly events: EventRecorder;
}

const STATUS_MANAGER = 'cairn-databases-status';
const CREATED: Finding = ['True', 'Created', 'the operator has created the database'];
const RECOVERED: Finding = ['True', 'Recovered', 'the cluster continues the database with another id'];
const ADOPTED: Finding = ['True', 'Adopted', 'the operator has taken over a database that existed'];

export class DatabaseController implements Controller<World, Action> {
  readonly name = 'databases';
  readonly #options: DatabaseControllerOptions;

  constructor(options: DatabaseControllerOptions) {
    this.#options = options;
  }

  /** Sources of the keys of this controller. */
  get sources(): readonly Source[] {
    const { informer, clusters } = this.#options;
    const siblings = ({ metadata, spec }: EventDatabase): readonly string[] =>
      this.#databasesOf(metadata.namespace, spec.clusterRef.name).map(keyOf);
    const dependents = ({ metadata }: CairnCluster): readonly string[] =>
      this.#databasesOf(metadata.namespace, metadata.name).map(keyOf);
    // A deletion may end the claim on a database that another object waits for.
    const deletions: Source = {
      synced: informer.synced,
      subscribe: (add) => informer.subscribe({ onDelete: (object) => siblings(object).forEach(add) }),
    };
    return [sourceOf(informer), deletions, clusters.source(dependents)];
  }

  async observe(key: string): Promise<World | undefined> {
    const { api, informer, clusters } = this.#options;
    const resource = informer.items.get(key);
    if (resource === undefined) return undefined;
    const cluster = await clusters.find(resource.metadata.namespace, resource.spec.clusterRef.name);
    const found: Found = cluster.kind === 'ready' ? await this.#find(cluster.cluster, resource) : { kind: 'unknown' };
    return { resource, cluster, found, claimedBy: this.#claimOn(resource), wallMs: api.runtime.wallMs() };
  }

  plan(world: World): readonly Action[] {
    return plan(world);
  }

  isIrreversible(): boolean {
    return true;
  }

  async act(action: Action): Promise<void> {
    const { world } = action;
    const { resource: object } = world;
    if (action.kind === 'hold')
      await setFinalizer(this.#options.api, { kind: EVENT_DATABASE, object }, FINALIZER, true);
    else if (action.kind === 'release') await this.#release(world);
    else if (action.kind === 'create') await this.#create(world);
    else if (action.kind === 'record') await this.#write(world, recordOf(object), action.database);
    else {
      const databases = await this.#databases(world);
      await databases.delete(action.database.name, action.database.id);
      this.#tell(world, { type: 'Normal', reason: 'Deleted', note: `deleted ${action.database.id}` });
    }
  }

  /** A pass that acted reports nothing: its world has changed, and the next pass observes it. */
  async report(world: World, { done, failure }: Outcome<Action>): Promise<void> {
    const { api } = this.#options;
    if (done > 0) return;
    const status = statusOf(world, failure?.message);
    await reportStatus(api, { kind: EVENT_DATABASE, object: world.resource, status, manager: STATUS_MANAGER });
    // The queue retries sooner than the next regular check.
    if (world.found.kind === 'unknown' && world.found.error !== undefined) throw world.found.error;
  }

  /** The record that it begins comes first: it tells an own database from that of another party after a crash (KD1). */
  async #create(world: World): Promise<void> {
    const { resource } = world;
    const databases = await this.#databases(world);
    const isRepeated = isCreating(resource);
    const announced = isRepeated ? world : await this.#write(world, creating(resource));
    try {
      await this.#write(announced, CREATED, await databases.create(databaseNameOf(resource)));
    } catch (error) {
      // A first attempt that finds the name taken has created nothing.
      if (isRepeated || !failedWith(error, 'ALREADY_EXISTS')) throw error;
      await this.#write(announced, exists(resource));
    }
  }

  async #release(world: World): Promise<void> {
    const { resource: object, cluster, found } = world;
    await setFinalizer(this.#options.api, { kind: EVENT_DATABASE, object }, FINALIZER, false);
    const isLeft = object.spec.reclaimPolicy === 'Delete' && found.kind !== 'none';
    if (!isLeft || object.metadata.deletionTimestamp === undefined) return;
    const why = cluster.kind === 'gone' ? 'its cluster is gone' : 'it is another one, or the deletion was given up';
    this.#tell(world, { type: 'Warning', reason: 'DatabaseLeft', note: `the database was not deleted: ${why}` });
  }

  /** Returns the world with the object as it was written. */
  async #write(world: World, created: Finding, database?: Database): Promise<World> {
    const status = statusWith(world, created, database);
    const write = { kind: EVENT_DATABASE, object: world.resource, status, manager: STATUS_MANAGER };
    const resource = await writeStatus<EventDatabase>(this.#options.api, write);
    if (created[0] === 'True') this.#tell(world, { type: 'Normal', reason: created[1], note: created[2] });
    return { ...world, resource };
  }

  #tell({ resource }: World, text: Omit<EventText, 'action'>): void {
    const { apiVersion, kind } = EVENT_DATABASE;
    this.#options.events.record({ ...resource, apiVersion, kind }, { action: 'Reconcile', ...text });
  }

  #databases({ cluster }: World): Promise<Databases> {
    if (cluster.kind !== 'ready') throw new Error('the cluster is not ready');
    return this.#options.connect(cluster.cluster);
  }

  async #find(cluster: CairnCluster, resource: EventDatabase): Promise<Found> {
    try {
      const databases = await this.#options.connect(cluster);
      const name = databaseNameOf(resource);
      const database = await databases.find(name);
      if (database === undefined) return { kind: 'none' };
      const { databaseID: id = database.id } = resource.status ?? {};
      return {
        kind: 'database',
        database,
        predecessor: id === database.id ? undefined : await databases.predecessor(name),
      };
    } catch (error) {
      return { kind: 'unknown', error: asError(error) };
    }
  }

  /** The oldest EventDatabase for a database has it. */
  #claimOn(resource: EventDatabase): string | undefined {
    const { namespace } = resource.metadata;
    const same = this.#databasesOf(namespace, resource.spec.clusterRef.name).filter(
      (other) => databaseNameOf(other) === databaseNameOf(resource),
    );
    const { metadata } = oldest(same) ?? resource;
    return metadata.uid === resource.metadata.uid ? undefined : metadata.name;
  }

  #databasesOf(namespace: string, cluster: string): readonly EventDatabase[] {
    const all = [...this.#options.informer.items.values()];
    return all.filter(({ metadata, spec }) => metadata.namespace === namespace && spec.clusterRef.name === cluster);
  }
}

/** Finding for a database that is found: it was created before, or continues one, or belonged to another party. */
function recordOf(resource: EventDatabase): Finding {
  if (isCreating(resource)) return CREATED;
  return resource.status?.databaseID === undefined ? ADOPTED : RECOVERED;
}
