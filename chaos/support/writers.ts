/**
 * Writers that write without a pause, and the ledger of the outcomes: which transactions were acknowledged at which
 * revision, and which got no reply.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceError } from '@grpc/grpc-js';
import { Event } from '../../proto/gen/cairn/v1/event.ts';
import type { TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';
import { StoreClient } from './store-client.ts';

/** Known outcome of one transaction. */
export interface Attempt {
  readonly transactionId: string;
  readonly eventIds: readonly string[];
  outcome:
    | { readonly kind: 'acknowledged'; readonly revision: number }
    | { readonly kind: 'unknown' }
    | { readonly kind: 'refused' };
}

/** All transactions of all writers, by id. */
export type Ledger = Map<string, Attempt>;

export interface WriterTarget {
  /** host:port. */
  readonly address: string;
  readonly database: string;
  /** Filler bytes per event; default 200. */
  readonly fillerBytes?: number;
}

const FILLER_BYTES_DEFAULT = 200;
/** Maximum number of events of a transaction. */
const LARGE_EVENTS = 1000;
/** Every eighth transaction of the first writer is large. */
const LARGE_EVERY = 8;
/** Number of unanswered transactions that the next writers send again. */
const REPEATED_MAX = 4;

export class Writers {
  readonly #client: StoreClient;
  readonly #target: WriterTarget;
  readonly #ledger: Ledger;
  readonly #refused: ServiceError[] = [];
  readonly #answered = Promise.withResolvers<void>();
  #stopped = false;
  #running: Promise<void>[] = [];

  constructor(target: WriterTarget, ledger: Ledger) {
    this.#client = new StoreClient(target.address);
    this.#target = target;
    this.#ledger = ledger;
  }

  /** Errors that exclude that the transaction was stored; each ended its writer. */
  get refused(): readonly ServiceError[] {
    return this.#refused;
  }

  /** Resolves with the first acknowledgement of a new transaction: the history has grown. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /**
   * Waits for an acknowledgement of a new transaction. Returns the problem when there is none within `waitMs`, or when
   * every writer has ended before it.
   */
  async stall(waitMs: number): Promise<string | undefined> {
    return Promise.race([
      this.answered.then(() => undefined),
      this.ended.then(() => 'every writer ended before anything new was acknowledged'),
      delay(waitMs, `nothing new was acknowledged in ${waitMs} ms`, { ref: false }),
    ]);
  }

  /** Resolves when all writers have ended: the node is gone, or has refused them. */
  get ended(): Promise<unknown> {
    return Promise.all(this.#running);
  }

  /** Starts `count` writers, and sends some unanswered transactions again: each is stored at most once. */
  start(count: number): void {
    const unanswered = [...this.#ledger.values()].filter((attempt) => attempt.outcome.kind === 'unknown');
    const repeating = unanswered.slice(-REPEATED_MAX).map(async (attempt) => void (await this.#send(attempt)));
    this.#running = [...repeating, ...Array.from({ length: count }, (_, writer) => this.#write(writer))];
  }

  /** Stops after the transactions in flight; missing replies end with the connection. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.ended;
    this.#client[Symbol.dispose]();
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const isLarge = writer === 0 && n % LARGE_EVERY === 0;
      const attempt = newAttempt(isLarge ? LARGE_EVENTS : 1 + ((writer + n) % 3));
      this.#ledger.set(attempt.transactionId, attempt);
      if (!(await this.#send(attempt))) return;
      this.#answered.resolve();
    }
  }

  /** Sends the transaction; returns whether it was acknowledged. */
  async #send(attempt: Attempt): Promise<boolean> {
    const { database, fillerBytes = FILLER_BYTES_DEFAULT } = this.#target;
    try {
      const reply = await this.#client.transact(requestOf(database, attempt, fillerBytes));
      attempt.outcome = { kind: 'acknowledged', revision: reply.revision };
      return true;
    } catch (error) {
      if (!StoreClient.isServiceError(error)) throw error;
      if (StoreClient.isUnknownOutcome(error)) return false;
      attempt.outcome = { kind: 'refused' };
      this.#refused.push(error);
      return false;
    }
  }
}

function newAttempt(events: number): Attempt {
  const transactionId = randomUUID();
  const eventIds = Array.from({ length: events }, (_, i) => `${transactionId}/${i}`);
  return { transactionId, eventIds, outcome: { kind: 'unknown' } };
}

function requestOf(databaseName: string, { transactionId, eventIds }: Attempt, fillerBytes: number): TransactRequest {
  const filler = 'x'.repeat(fillerBytes);
  const events = eventIds.map((id) =>
    Event.fromPartial({
      id,
      specVersion: '1.0',
      ty: 'chaos.written',
      source: '/chaos',
      subject: transactionId,
      data: Buffer.from(JSON.stringify({ id, filler })),
      datacontenttype: 'application/json',
    }),
  );
  const neverSeen = { subject: transactionId, kind: undefined };
  return {
    databaseName,
    transaction: {
      events,
      constraints: [{ kind: { $case: 'maxRevision', value: { revision: 0, selector: neverSeen } } }],
      transactionId,
      options: undefined,
    },
    events: [],
    constraints: [],
    options: undefined,
  };
}
