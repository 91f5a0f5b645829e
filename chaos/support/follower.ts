/**
 * A subscriber that outlives its node: it reads a database with SubscribeEvents and resumes after each restart at the
 * last event that it received. It checks that it received every event of the log once, in order, and no other event.
 */

import type { SubscribeEventsReply } from '../../proto/gen/cairn/v1/database.ts';
import { type Position } from '../../proto/gen/cairn/v1/event.ts';
import { StoreClient } from './store-client.ts';

export class Follower {
  readonly #database: string;
  /** Ids of delivered events and of events in the log, from the first one that is not compared yet. */
  #delivered: string[] = [];
  #stored: string[] = [];
  #after: Position | undefined;
  #count = 0;
  #running: Promise<void> = Promise.resolve();
  #stop: () => void = () => undefined;
  #failure: Error | undefined;

  constructor(database: string) {
    this.#database = database;
  }

  /** Number of events delivered so far. */
  get count(): number {
    return this.#count;
  }

  start(address: string): void {
    const client = new StoreClient(address);
    const stream = client.subscribe({
      databaseName: this.#database,
      eventSelection: undefined,
      after: this.#after,
      heartbeatMs: 0,
    });
    this.#stop = () => stream.cancel();
    this.#running = this.#follow(stream).finally(() => client[Symbol.dispose]());
  }

  async stop(): Promise<void> {
    this.#stop();
    await this.#running;
  }

  /** Compares the delivered events with the log, after adding the log's new ids in order. */
  check(stored: readonly string[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#stored = this.#stored.concat(stored);
    const wrong = this.#delivered.findIndex((id, at) => id !== this.#stored[at]);
    if (wrong !== -1) {
      const place = this.#count - this.#delivered.length + wrong;
      throw new Error(`event ${place} was delivered as ${this.#delivered[wrong]}; it is ${this.#stored[wrong]}`);
    }
    this.#stored = this.#stored.slice(this.#delivered.length);
    this.#delivered = [];
  }

  async #follow(stream: AsyncIterable<SubscribeEventsReply>): Promise<void> {
    try {
      for await (const { message } of stream) {
        if (message?.$case !== 'event') continue;
        const { id, revision, index } = message.value;
        this.#after = { revision, index };
        this.#delivered.push(id);
        this.#count += 1;
      }
    } catch (error) {
      if (!StoreClient.isServiceError(error)) throw error;
      if (!StoreClient.isUnknownOutcome(error)) this.#failure = error;
    }
  }
}
