/** The feeds of databases with subscribers: created for the first subscriber, removed with the last. */
import type { GroupId } from '#base';
import type { DatabaseSource } from '#query';
import { TailFeed, type TailFeedLimits } from './tail-feed.ts';

export interface FollowedFeed extends Disposable {
  readonly feed: TailFeed;
}

export class TailFeeds {
  readonly #limits: TailFeedLimits;
  readonly #feeds = new Map<GroupId, { readonly feed: TailFeed; followers: number }>();

  constructor(limits: TailFeedLimits) {
    this.#limits = limits;
  }

  /** Number of databases with subscribers. */
  get count(): number {
    return this.#feeds.size;
  }

  follow(source: DatabaseSource, applied: number): FollowedFeed {
    const { group } = source;
    const entry = this.#feeds.get(group) ?? { feed: new TailFeed(source, applied, this.#limits), followers: 0 };
    entry.followers++;
    this.#feeds.set(group, entry);
    return { feed: entry.feed, [Symbol.dispose]: () => this.#leave(group, entry) };
  }

  #leave(group: GroupId, entry: { followers: number }): void {
    entry.followers--;
    if (entry.followers === 0) this.#feeds.delete(group);
  }
}
