/** The databases of a cluster, as the operator creates, finds and deletes them. */
import { ClusterAdminService, type Database as Described } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { type Database as DatabaseMessage } from '../../../proto/gen/cairn/v1/database.ts';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { type Channel, ChannelClient, unlessNotFound } from './channel.ts';

export interface Database {
  readonly name: string;
  /** No other database has it, also not one of the same name. */
  readonly id: string;
  readonly createdAt: string;
}

/** A database as its cluster stores it. */
export interface Placed {
  /** Number of replicas that it asks for; 0: the default of the cluster. */
  readonly copies: number;
  /** Id before its recovery from one of its replicas. */
  readonly predecessor?: string | undefined;
}

/** One description has all databases, and each pass over one of them needs it. */
const DESCRIBED_MS = 10_000;
const descriptions = new WeakMap<Channel, { readonly atMs: number; readonly databases: readonly Described[] }>();

/** The public methods of the client. The simulation of test/operator has them, too. Calls reject with a `CallError`. */
export type Databases = Pick<GrpcDatabases, keyof GrpcDatabases>;

export class GrpcDatabases extends ChannelClient {
  /** Sees every database whose creation was answered before. */
  async find(databaseName: string): Promise<Database | undefined> {
    const call = this.channel.call(EventStoreService.fetchLatestDatabase, { databaseName });
    const reply = await call.catch(unlessNotFound);
    return reply && databaseOf(reply);
  }

  /** Its state of at most ten seconds ago; undefined when no node that answered knows the database yet. */
  async describe({ id }: Database): Promise<Placed | undefined> {
    const isIt = ({ databaseId }: Described): boolean => databaseId === id;
    const known = descriptions.get(this.channel);
    const isFresh = known !== undefined && performance.now() - known.atMs < DESCRIBED_MS;
    const found = (isFresh ? known.databases.find(isIt) : undefined) ?? (await this.#describeAll()).find(isIt);
    return found && { copies: found.copies, predecessor: found.recovery?.previousDatabaseId };
  }

  async #describeAll(): Promise<readonly Described[]> {
    const { databases } = await this.channel.call(ClusterAdminService.describeCluster, { isPassedOn: false });
    descriptions.set(this.channel, { atMs: performance.now(), databases });
    return databases;
  }

  /** Without `copies` it has the default of the cluster. ALREADY_EXISTS: the name is taken. */
  async create(databaseName: string, copies?: number): Promise<Database> {
    return databaseOf(await this.channel.call(EventStoreService.createDatabase, { databaseName, copies }));
  }

  /** Changes the database with the id. 0: the default of the cluster. */
  async setCopies({ name, id: databaseId }: Database, copies: number): Promise<void> {
    await this.channel.call(ClusterAdminService.setCopies, { name, databaseId, copies, isPassedOn: false });
    descriptions.delete(this.channel);
  }

  /** Deletes the database with the id. Succeeds when there is none, also when another one has the name. */
  async delete(databaseName: string, databaseId: string): Promise<void> {
    await this.channel.call(EventStoreService.deleteDatabase, { databaseName, databaseId });
  }
}

function databaseOf({ database }: { readonly database: DatabaseMessage | undefined }): Database {
  if (database === undefined) throw new Error('the reply has no database');
  const { name, databaseId: id, createdAt = { seconds: 0 } } = database;
  return { name, id, createdAt: new Date(createdAt.seconds * 1000).toISOString().replace('.000', '') };
}
