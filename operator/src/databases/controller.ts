/** The controller of EventDatabases: observes a database, and carries out what plan.ts wants. */
import { type CairnCluster, EVENT_DATABASE, type EventDatabase } from '../api/index.ts';
import { type Database, type Databases, failedWith } from '../client/index.ts';
import { asError, type EventText, type Finding, keyOf, type Source, writeStatus } from '../kube/index.ts';
import {
  claimOn,
  ofCluster,
  type ResourceController,
  type ResourceOptions,
  readyCluster,
  resourceController,
} from '../reconcile/index.ts';
import {
  type Action,
  copiesOf,
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

type Options = ResourceOptions<EventDatabase, Databases>;

const MANAGER = 'cairn-databases-status';
const CREATED: Finding = ['True', 'Created', 'the operator has created the database'];
const RECOVERED: Finding = ['True', 'Recovered', 'the cluster continues the database with another id'];
const ADOPTED: Finding = ['True', 'Adopted', 'the operator has taken over a database that existed'];

export function databaseController(options: Options): ResourceController<World, Action> {
  const { informer, clusters } = options;
  const work = new DatabaseWork(options);
  // A deletion may end the claim on a database that another object waits for.
  const deletions: Source = {
    synced: informer.synced,
    subscribe: (add) => informer.subscribe({ onDelete: (object) => work.siblings(object).map(keyOf).forEach(add) }),
  };
  return resourceController(options, {
    name: 'databases',
    kind: EVENT_DATABASE,
    manager: MANAGER,
    finalizer: FINALIZER,
    sources: [deletions, clusters.source(({ metadata }) => ofCluster(informer, metadata).map(keyOf))],
    observe: (resource) => work.observe(resource),
    plan,
    act: (action, world) => work.act(action, world),
    statusOf,
    errorOf: ({ found }) => (found.kind === 'unknown' ? found.error : undefined),
  });
}

class DatabaseWork {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async observe(resource: EventDatabase): Promise<World> {
    const { api, clusters } = this.#options;
    const cluster = await clusters.find(resource.metadata.namespace, resource.spec.clusterRef.name);
    const found: Found = cluster.kind === 'ready' ? await this.#find(cluster.cluster, resource) : { kind: 'unknown' };
    const same = this.siblings(resource).filter((other) => databaseNameOf(other) === databaseNameOf(resource));
    return { resource, cluster, found, claimedBy: claimOn(resource, same), wallMs: api.runtime.wallMs() };
  }

  async #find(cluster: CairnCluster, resource: EventDatabase): Promise<Found> {
    try {
      const databases = await this.#options.connect(cluster);
      const database = await databases.find(databaseNameOf(resource));
      if (database === undefined) return { kind: 'none' };
      return { kind: 'database', database, placed: await databases.describe(database) };
    } catch (error) {
      return { kind: 'unknown', error: asError(error) };
    }
  }

  siblings({ metadata: { namespace }, spec }: EventDatabase): readonly EventDatabase[] {
    return ofCluster(this.#options.informer, { namespace, name: spec.clusterRef.name });
  }

  async act(action: Action, world: World): Promise<void> {
    if (action.kind === 'release') this.#tellLeft(world);
    else if (action.kind === 'create') await this.#create(world);
    else if (action.kind === 'record') await this.#write(world, recordOf(world.resource), action.database);
    else if (action.kind === 'delete') {
      const { name, id } = action.database;
      await (await this.#options.connect(readyCluster(world.cluster))).delete(name, id);
      this.#tell(world, { type: 'Normal', reason: 'Deleted', note: `deleted ${id}` });
    } else if (action.kind === 'copies') {
      const copies = copiesOf(world.resource);
      await (await this.#options.connect(readyCluster(world.cluster))).setCopies(action.database, copies);
      const note = `asked for ${copies === 0 ? 'the default number of' : copies} copies`;
      this.#tell(world, { type: 'Normal', reason: 'CopiesChanged', note });
    }
  }

  /** The record that it begins comes first: it tells an own database from that of another party after a crash (KD1). */
  async #create(world: World): Promise<void> {
    const { resource } = world;
    const databases = await this.#options.connect(readyCluster(world.cluster));
    const isRepeated = isCreating(resource);
    const announced = isRepeated ? world : await this.#write(world, creating(resource));
    try {
      await this.#write(announced, CREATED, await databases.create(databaseNameOf(resource), resource.spec.copies));
    } catch (error) {
      // A first attempt that finds the name taken has created nothing.
      if (isRepeated || !failedWith(error, 'ALREADY_EXISTS')) throw error;
      await this.#write(announced, exists(resource));
    }
  }

  /** Returns the world with the object as it was written. */
  async #write(world: World, created: Finding, database?: Database): Promise<World> {
    const status = statusWith(world, created, database);
    const write = { kind: EVENT_DATABASE, object: world.resource, status, manager: MANAGER };
    const resource = await writeStatus<EventDatabase>(this.#options.api, write);
    if (created[0] === 'True') this.#tell(world, { type: 'Normal', reason: created[1], note: created[2] });
    return { ...world, resource };
  }

  #tellLeft(world: World): void {
    const { resource, cluster, found } = world;
    const isLeft = resource.spec.reclaimPolicy === 'Delete' && found.kind !== 'none';
    if (!isLeft || resource.metadata.deletionTimestamp === undefined) return;
    const why = cluster.kind === 'gone' ? 'its cluster is gone' : 'it is another one, or the deletion was given up';
    const named = `${databaseNameOf(resource)} (${resource.status?.databaseID ?? 'of unknown id'})`;
    this.#tell(world, { type: 'Warning', reason: 'DatabaseLeft', note: `database ${named} was not deleted: ${why}` });
  }

  #tell({ resource }: World, text: Omit<EventText, 'action'>): void {
    this.#options.events.record(resource, { action: 'Reconcile', ...text });
  }
}

/** Finding for a database that is found: it was created before, or continues one, or belonged to another party. */
function recordOf(resource: EventDatabase): Finding {
  if (isCreating(resource)) return CREATED;
  return resource.status?.databaseID === undefined ? ADOPTED : RECOVERED;
}
