/** A gRPC client with promises, for tests whose server may end at any time: it never retries a call. */
import { type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Database, SubscribeEventsReply, SubscribeEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import { EventStoreClient } from '../../proto/gen/cairn/v1/event_store.ts';
import type { TransactReply, TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';

const DEADLINE_MS = 20_000;
/** Statuses of a call to a node that ends: the request may have taken effect or not. */
const UNKNOWN_OUTCOMES: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
]);

export class StoreClient implements Disposable {
  readonly #client: EventStoreClient;

  /** `address` is host:port. */
  constructor(address: string) {
    this.#client = new EventStoreClient(address, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  }

  async createDatabase(databaseName: string): Promise<Database> {
    const { database } = await promised<{ readonly database?: Database | undefined }>((done) =>
      this.#client.createDatabase({ databaseName }, done),
    );
    if (database === undefined) throw new Error('a created database is not described');
    return database;
  }

  async deleteDatabase(databaseName: string): Promise<void> {
    await promised((done) => this.#client.deleteDatabase({ databaseName, databaseId: undefined }, done));
  }

  async databases(): Promise<readonly Database[]> {
    const reply = await promised<{ readonly databases: readonly Database[] }>((done) =>
      this.#client.fetchCatalog({}, done),
    );
    return reply.databases;
  }

  async latestRevision(databaseName: string): Promise<number> {
    const { database } = await promised<{ readonly database?: Database | undefined }>((done) =>
      this.#client.fetchLatestDatabase({ databaseName }, done),
    );
    return database?.revision ?? 0;
  }

  /** Has no deadline: a paused node answers after it is resumed. */
  transact(request: TransactRequest): Promise<TransactReply> {
    return new Promise((resolve, reject) => {
      this.#client.transact(request, settle(resolve, reject));
    });
  }

  subscribe(request: SubscribeEventsRequest): ClientReadableStream<SubscribeEventsReply> {
    return this.#client.subscribeEvents(request);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  static isServiceError(error: unknown): error is ServiceError {
    return error instanceof Error && 'code' in error && 'metadata' in error;
  }

  /** True when a failed request may have taken effect. An INTERNAL with details comes from the node and is a bug. */
  static isUnknownOutcome(error: ServiceError): boolean {
    if (error.code === status.INTERNAL && error.metadata.get('grpc-status-details-bin').length > 0) return false;
    return UNKNOWN_OUTCOMES.has(error.code);
  }
}

type Done<Reply> = (error: ServiceError | null, reply: Reply) => void;

function settle<Reply>(resolve: (reply: Reply) => void, reject: (error: ServiceError) => void): Done<Reply> {
  return (error, reply) => {
    if (error === null) resolve(reply);
    else reject(error);
  };
}

function promised<Reply>(send: (done: Done<Reply>) => { cancel(): void }): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = send((error, reply) => {
      clearTimeout(deadline);
      settle(resolve, reject)(error, reply);
    });
    const deadline = setTimeout(() => call.cancel(), DEADLINE_MS);
  });
}
