/**
 * Reads a database for one subscriber: from the store while it lags, then from the feed that all subscribers share.
 * Between two slices only its position is kept (V7).
 */
import type { Binding } from '#cluster';
import { type Matcher, matcherOf, type Position } from '#model';
import { type DatabaseSource, EventTail, pulled, Slice, type StoredEvent } from '#query';
import type { ServiceContext } from './context.ts';
import type { SubscribeRequest } from './operations.ts';
import type { Reads } from './reads.ts';
import type { FollowedFeed } from './tail-feed.ts';
import { endOf } from './tail-feed.ts';

/** A subscription whose start position exists. */
export interface FollowRequest extends Omit<SubscribeRequest, 'after'> {
  readonly after?: Position;
}

const PULLED = pulled();

export class SubscriberReader implements Disposable {
  readonly #reads: Reads;
  readonly #binding: Binding;
  readonly #source: DatabaseSource;
  readonly #request: FollowRequest;
  readonly #matches: Matcher;
  readonly #followed: FollowedFeed;
  readonly #countMax: number;
  #position: Position;

  constructor(context: ServiceContext, binding: Binding, request: FollowRequest) {
    this.#reads = context.reads;
    this.#binding = binding;
    this.#source = context.reads.source(binding);
    this.#request = request;
    this.#matches = matcherOf(request.selector);
    this.#countMax = context.limits.tailEventsMax;
    this.#position = request.after ?? endOf(0);
    this.#followed = context.tails.follow(this.#source, context.node.readable(binding.group));
  }

  /** All selected events up to and including this position were returned. */
  get position(): Position {
    return this.#position;
  }

  /** Yields the selected events from the position up to a readable revision; slices may be empty. */
  async *upTo(readable: number): AsyncGenerator<readonly StoredEvent[]> {
    const { feed } = this.#followed;
    const { pace = PULLED } = this.#request;
    try {
      while (this.#position.revision < readable || this.#position.index < endOf(readable).index) {
        if (feed.covers(this.#position)) await this.#reads.read(this.#binding, () => feed.advance(readable));
        await pace.ready();
        // Checked again: the feed may have advanced so far that it has evicted events this one needs.
        if (feed.covers(this.#position)) {
          const step = feed.take(this.#position, this.#matches, new Slice(this.#countMax, pace));
          this.#position = step.position;
          yield step.events;
        } else yield* this.#fromStore(readable);
      }
    } finally {
      pace.rest();
    }
  }

  async *#fromStore(readable: number): AsyncGenerator<readonly StoredEvent[]> {
    const { selector, signal, pace, lent } = this.#request;
    const tail = new EventTail(this.#source, { selector, after: this.#position, pace, lent });
    for await (const events of this.#reads.stream(this.#binding, tail.advance(readable, signal), signal)) {
      this.#position = tail.position;
      yield events;
    }
    signal.throwIfAborted();
    this.#position = tail.position;
  }

  [Symbol.dispose](): void {
    this.#followed[Symbol.dispose]();
  }
}
