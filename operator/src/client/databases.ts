/** The databases of a cluster, as the operator creates, finds and deletes them. */
import { ClusterAdminService } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { type Database as DatabaseMessage } from '../../../proto/gen/cairn/v1/database.ts';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { ChannelClient, unlessNotFound } from './channel.ts';

export interface Database {
  readonly name: string;
  /** No other database has it, also not one of the same name. */
  readonly id: string;
  readonly createdAt: string;
}

/** The public methods of the client. The simulation of test/operator has them, too. Calls reject with a `CallError`. */
export type Databases = Pick<GrpcDatabases, keyof GrpcDatabases>;

export class GrpcDatabases extends ChannelClient {
  /** Sees every database whose creation was answered before. */
  async find(databaseName: string): Promise<Database | undefined> {
    const call = this.channel.call(EventStoreService.fetchLatestDatabase, { databaseName });
    const reply = await call.catch(unlessNotFound);
    return reply && databaseOf(reply);
  }

  /** The id that the database of the name had before it was recovered from one of its replicas. */
  async predecessor(name: string): Promise<string | undefined> {
    const { databases } = await this.channel.call(ClusterAdminService.describeCluster, { isPassedOn: false });
    return databases.find((database) => database.name === name)?.recovery?.previousDatabaseId;
  }

  /** ALREADY_EXISTS: the name is taken. */
  async create(databaseName: string): Promise<Database> {
    return databaseOf(await this.channel.call(EventStoreService.createDatabase, { databaseName }));
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
