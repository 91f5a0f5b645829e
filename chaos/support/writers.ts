/**
 * Writers that never stop writing, and the ledger of what they were told: which transactions were acknowledged at
 * which revision, and which were left without an answer.
 */
import { randomUUID } from 'node:crypto';
import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { Event } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { EventStoreClient } from '../../src/transport/grpc/gen/cairn/v1/event_store.ts';
import type { TransactReply, TransactRequest } from '../../src/transport/grpc/gen/cairn/v1/transaction.ts';

/** What is known of one transaction. */
export interface Attempt {
  readonly transactionId: string;
  readonly eventIds: readonly string[];
  outcome:
    | { readonly kind: 'acknowledged'; readonly revision: number }
    | { readonly kind: 'unknown' }
    | { readonly kind: 'refused' };
}

/** Every transaction that any writer ever sent, by its id. */
export type Ledger = Map<string, Attempt>;

/** What a client is told when the node has gone; the transaction may or may not be there. */
const UNKNOWN_OUTCOMES: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.CANCELLED,
  status.INTERNAL,
  status.DEADLINE_EXCEEDED,
]);

export class Writers {
  readonly #client: EventStoreClient;
  readonly #database: string;
  readonly #ledger: Ledger;
  readonly #refused: ServiceError[] = [];
  #stopped = false;
  #running: Promise<void>[] = [];

  constructor(target: { readonly address: string; readonly database: string }, ledger: Ledger) {
    this.#client = new EventStoreClient(target.address, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
    this.#database = target.database;
    this.#ledger = ledger;
  }

  /** Errors that say for certain that nothing was stored. */
  get refused(): readonly ServiceError[] {
    return this.#refused;
  }

  start(count: number): void {
    this.#running = Array.from({ length: count }, (_, writer) => this.#write(writer));
  }

  /** Stops after the transactions in flight; answers that never come end with the connection. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
    this.#client.close();
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const attempt = newAttempt(1 + ((writer + n) % 3));
      this.#ledger.set(attempt.transactionId, attempt);
      try {
        const reply = await this.#transact(requestOf(this.#database, writer, attempt));
        attempt.outcome = { kind: 'acknowledged', revision: reply.revision };
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (UNKNOWN_OUTCOMES.has(error.code)) return;
        attempt.outcome = { kind: 'refused' };
        this.#refused.push(error);
        return;
      }
    }
  }

  #transact(request: TransactRequest): Promise<TransactReply> {
    return new Promise((resolve, reject) => {
      this.#client.transact(request, (error, reply) => {
        if (error === null) resolve(reply);
        else reject(error);
      });
    });
  }
}

function newAttempt(events: number): Attempt {
  const transactionId = randomUUID();
  const eventIds = Array.from({ length: events }, (_, i) => `${transactionId}/${i}`);
  return { transactionId, eventIds, outcome: { kind: 'unknown' } };
}

function requestOf(databaseName: string, writer: number, attempt: Attempt): TransactRequest {
  const events = attempt.eventIds.map((id) =>
    Event.fromPartial({
      id,
      specVersion: '1.0',
      ty: 'chaos.written',
      source: `/chaos/writer-${writer}`,
      subject: attempt.transactionId,
      data: Buffer.from(JSON.stringify({ id, filler: 'x'.repeat(200) })),
      datacontenttype: 'application/json',
    }),
  );
  const neverSeen = { subject: attempt.transactionId, kind: undefined };
  return {
    databaseName,
    transaction: {
      events,
      constraints: [{ kind: { $case: 'maxRevision', value: { revision: 0, selector: neverSeen } } }],
      transactionId: attempt.transactionId,
      options: undefined,
    },
    events: [],
    constraints: [],
    options: undefined,
  };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error;
}
