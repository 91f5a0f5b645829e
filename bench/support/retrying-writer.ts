/**
 * A client of a cluster that sends one transaction after the other, and repeats each one under its transaction_id at
 * the next node until it is acknowledged.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { TRANSACT } from '../peers/cairn.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from './http2-connection.ts';
import { bytesField, message } from './protobuf.ts';

/** An acknowledged transaction, with times of this process. */
export interface Acknowledged {
  /** Time when the acknowledged attempt was sent. */
  readonly sentMs: number;
  readonly acknowledgedMs: number;
  readonly attempts: number;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const HEADERS = grpcHeaders(TRANSACT);
const ATTEMPT_MS = 2_000;
const RETRY_MS = 10;
/** A transaction fails when it is not acknowledged within this time. */
const GIVE_UP_MS = 30_000;

export interface WriterOptions {
  /** Index of the first address to use. */
  readonly first: number;
  /** Time between an acknowledgement and the next transaction. */
  readonly everyMs: number;
}

export class RetryingWriter {
  readonly database: string;
  readonly acknowledged: Acknowledged[] = [];
  failed = 0;
  readonly #addresses: () => readonly Address[];
  readonly #everyMs: number;
  #at: number;
  #connection: Http2Connection | undefined;
  #isOver = false;
  readonly #running: Promise<void>;

  /** Starts to write immediately. */
  constructor(database: string, addresses: () => readonly Address[], { first, everyMs }: WriterOptions) {
    this.database = database;
    this.#addresses = addresses;
    this.#everyMs = everyMs;
    this.#at = first;
    this.#running = this.#run();
  }

  /** Resolves when the last transaction has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    this.#connection?.close();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#write();
      await delay(this.#everyMs);
    }
  }

  async #write(): Promise<void> {
    const request = oneEvent(this.database);
    const giveUpMs = performance.now() + GIVE_UP_MS;
    for (let attempts = 1; performance.now() < giveUpMs; attempts++) {
      const sentMs = performance.now();
      if (await this.#attempt(request)) {
        this.acknowledged.push({ sentMs, acknowledgedMs: performance.now(), attempts });
        return;
      }
      this.#at += 1;
      await delay(RETRY_MS);
    }
    this.failed += 1;
  }

  async #attempt(request: Buffer): Promise<boolean> {
    const late = new AbortController();
    const isLate = delay(ATTEMPT_MS, false, { signal: late.signal }).catch(() => false);
    const isOk = await Promise.race([this.#call(request), isLate]);
    late.abort();
    if (!isOk) this.#hangUp();
    return isOk;
  }

  async #call(request: Buffer): Promise<boolean> {
    const addresses = this.#addresses();
    const address = addresses[this.#at % addresses.length];
    if (address === undefined) return false;
    if (this.#connection?.isOpen === false) this.#hangUp();
    try {
      this.#connection ??= await Http2Connection.open(address);
    } catch {
      // No server listens at this address now; the next attempt uses another one.
      return false;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#connection.call(HEADERS, request, { onEnd: ({ ok }) => resolve(ok) });
    return promise;
  }

  #hangUp(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}

/**
 * Milliseconds from `sinceMs` to the first acknowledgement of a transaction that was sent later; undefined without one.
 */
export function untilNext(writers: readonly RetryingWriter[], sinceMs: number): number | undefined {
  const later = writers.flatMap(({ acknowledged }) => acknowledged.filter(({ sentMs }) => sentMs > sinceMs));
  return later.length === 0 ? undefined : Math.min(...later.map((each) => each.acknowledgedMs)) - sinceMs;
}

/** Longest time between two acknowledgements of any writer within a period. */
export function longestGap(writers: readonly RetryingWriter[], fromMs: number, toMs: number): number {
  const times = writers
    .flatMap(({ acknowledged }) => acknowledged.map(({ acknowledgedMs }) => acknowledgedMs))
    .filter((time) => time >= fromMs && time <= toMs)
    .toSorted((one, other) => one - other);
  return Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time)));
}

function oneEvent(database: string): Buffer {
  const id = randomUUID();
  const event = message(
    bytesField(1, id),
    bytesField(2, '1.0'),
    bytesField(3, 'com.example.order.placed'),
    bytesField(4, 'https://example.com/streams/orders'),
    bytesField(5, id),
    bytesField(7, '{"note":"xxxxxxxxxxxxxxxx"}'),
  );
  return grpcMessage(message(bytesField(1, database), bytesField(2, message(bytesField(1, event), bytesField(3, id)))));
}
