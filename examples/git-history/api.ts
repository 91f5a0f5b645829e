/**
 * Cairn's gRPC API for this example: the generated messages, and promises and iterators around the generated client.
 */
import { type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { QueryEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import type { Event } from '../../proto/gen/cairn/v1/event.ts';
import { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { EventStoreClient } from '../../proto/gen/cairn/v1/event_store.ts';
import type { LoggedTransaction, TransactReply, TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';

export type { QueryEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
export { Direction, Event, type EventQuery } from '../../proto/gen/cairn/v1/event.ts';
export type {
  LoggedTransaction,
  TransactReply,
  TransactRequest,
} from '../../proto/gen/cairn/v1/transaction.ts';

export class Api implements Disposable {
  readonly #client: EventStoreClient;

  /** `address` is host:port. */
  constructor(address: string) {
    this.#client = new EventStoreClient(address, credentials.createInsecure());
  }

  /** Makes the database unless it is there already. */
  async ensureDatabase(databaseName: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#client.createDatabase({ databaseName }, (error) => {
        if (error === null || error.code === status.ALREADY_EXISTS) resolve();
        else reject(error);
      });
    });
  }

  transact(request: TransactRequest): Promise<TransactReply> {
    return new Promise((resolve, reject) => {
      this.#client.transact(request, settle(resolve, reject));
    });
  }

  async latestRevision(databaseName: string): Promise<number> {
    const reply = await new Promise<{ readonly database?: { readonly revision: number } | undefined }>(
      (resolve, reject) => {
        this.#client.fetchLatestDatabase({ databaseName }, settle(resolve, reject));
      },
    );
    return reply.database?.revision ?? 0;
  }

  /** The transaction that made a revision. */
  async transactionAt(databaseName: string, revision: number): Promise<LoggedTransaction | undefined> {
    const request = { databaseName, startRevision: revision, direction: Direction.DIRECTION_FORWARD, limit: 1 };
    for await (const batch of messages(this.#client.scanLogBatches(request))) return batch.transactions[0];
    return undefined;
  }

  async hasTransaction(databaseName: string, transactionId: string): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#client.fetchTransaction({ databaseName, transactionId }, (error) => {
        if (error === null || error.code === status.NOT_FOUND) resolve(error === null);
        else reject(error);
      });
    });
  }

  query(request: QueryEventsRequest): AsyncIterable<Event> {
    return messages(this.#client.queryEvents(request));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

function settle<T>(
  resolve: (value: T) => void,
  reject: (error: ServiceError) => void,
): (error: ServiceError | null, value: T) => void {
  return (error, value) => {
    if (error === null) resolve(value);
    else reject(error);
  };
}

async function* messages<T>(stream: ClientReadableStream<T>): AsyncGenerator<T> {
  try {
    for await (const message of stream) yield message;
  } finally {
    stream.cancel();
  }
}
