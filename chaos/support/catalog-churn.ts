/**
 * Creates and deletes databases while the node runs. After a restart it checks that every acknowledged creation and
 * deletion persisted: a created database exists with its id and its transaction, and a deleted one does not exist.
 */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../proto/gen/cairn/v1/database.ts';
import { Event } from '../../proto/gen/cairn/v1/event.ts';
import { StoreClient } from './store-client.ts';

interface Churned {
  readonly name: string;
  /** `creating` and `deleting`: the reply is missing. */
  state: 'creating' | 'created' | 'deleting' | 'deleted';
  databaseId?: string;
  /** Revision of an acknowledged transaction in the database. */
  revision: number;
}

export interface ChurnSummary {
  readonly databasesCreated: number;
  readonly databasesDeleted: number;
}

export class CatalogChurn {
  readonly #known = new Map<string, Churned>();
  readonly #refusals: Error[] = [];
  #running: Promise<void> = Promise.resolve();
  #stopped = false;
  #created = 0;
  #deleted = 0;

  /** Errors of a node that should have accepted the request. */
  get refusals(): readonly Error[] {
    return this.#refusals;
  }

  get summary(): ChurnSummary {
    return { databasesCreated: this.#created, databasesDeleted: this.#deleted };
  }

  start(address: string): void {
    this.#stopped = false;
    this.#running = this.#churn(address);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Compares the catalog with the acknowledgements, and records the outcome of requests without a reply. */
  async check(address: string): Promise<void> {
    using client = new StoreClient(address);
    const databases = await client.databases();
    const found = new Map(databases.map((database) => [database.name, database]));
    for (const churned of this.#known.values()) await checkOne(churned, found.get(churned.name), client);
    for (const [name, churned] of this.#known) if (churned.state === 'deleted') this.#checkedGone.add(name);
    for (const name of this.#checkedGone) {
      if (found.has(name)) throw new Error(`the database ${name} was deleted and is there again`);
      this.#known.delete(name);
    }
  }

  readonly #checkedGone = new Set<string>();

  async #churn(address: string): Promise<void> {
    using client = new StoreClient(address);
    try {
      while (!this.#stopped) {
        const old = [...this.#known.values()].filter((churned) => churned.state === 'created');
        // Keeps one database, so that it exists after the next restart.
        for (const churned of old.slice(1)) await this.#delete(client, churned);
        await this.#create(client);
      }
    } catch (error) {
      if (!StoreClient.isServiceError(error)) throw error;
      if (!StoreClient.isUnknownOutcome(error)) this.#refusals.push(error);
    }
  }

  async #create(client: StoreClient): Promise<void> {
    const churned: Churned = { name: `churned-${randomUUID()}`, state: 'creating', revision: 0 };
    this.#known.set(churned.name, churned);
    const { databaseId } = await client.createDatabase(churned.name);
    Object.assign(churned, { state: 'created', databaseId });
    this.#created += 1;
    const event = Event.fromPartial({ id: '1', specVersion: '1.0', ty: 'churned', source: '/chaos' });
    const transaction = { events: [event], constraints: [], transactionId: randomUUID(), options: undefined };
    const { revision } = await client.transact({
      databaseName: churned.name,
      transaction,
      events: [],
      constraints: [],
      options: undefined,
    });
    churned.revision = revision;
  }

  async #delete(client: StoreClient, churned: Churned): Promise<void> {
    churned.state = 'deleting';
    await client.deleteDatabase(churned.name);
    churned.state = 'deleted';
    this.#deleted += 1;
  }
}

async function checkOne(churned: Churned, found: Database | undefined, client: StoreClient): Promise<void> {
  const { name, state, databaseId, revision } = churned;
  if (state === 'deleted') {
    if (found !== undefined) throw new Error(`the database ${name} was deleted and is there`);
    return;
  }
  if (found === undefined) {
    if (state === 'created') throw new Error(`the database ${name} was created and is missing`);
    churned.state = 'deleted';
    return;
  }
  if (databaseId !== undefined && found.databaseId !== databaseId) {
    throw new Error(`the database ${name} was created as ${databaseId} and is ${found.databaseId}`);
  }
  const latest = await client.latestRevision(name);
  if (latest < revision) throw new Error(`the database ${name} is at revision ${latest}; ${revision} was acknowledged`);
  churned.state = 'created';
  churned.databaseId = found.databaseId;
}
