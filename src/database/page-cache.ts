/**
 * Pages that were read lately, kept for readers that lend: verified once, and looked at by many.
 *
 * What is read again soon is mostly in the pages that were just read: neighbours, and whatever is new. A page never
 * changes, so nothing makes a kept one wrong; but a copy of a database that was given up and taken over again may have
 * other pages, so each page belongs to an owner that does not outlive the copy (D18).
 *
 * A few places for each hash of a page, of which the one used longest ago is taken: nothing is searched, and nothing
 * that a collector of garbage has to follow is made or dropped. The memory of a page is given back to the store when it
 * has lost its place and nobody reads it any more.
 */
import type { KvReader } from '#kv';
import type { Page } from './page.ts';

/** Powers of two. At most 128 × 32 KiB = 4 MiB are kept. */
const SETS = 32;
const PLACES_PER_SET = 4;
/** Larger values are not kept: they are single transactions of many events. */
export const CACHED_VALUE_BYTES_MAX: number = 32 * 1024;
/** The golden ratio of 32 bits: neighbouring numbers come to lie far apart. */
const SPREAD = 0x9e3779b1;

/** A page in the cache, or one that has lost its place while it was read. */
export interface CachedPage {
  readonly page: Page;
  readonly value: Uint8Array;
  readonly owner: object;
  /** Readers that have it and have not given it back. */
  readers: number;
  isKept: boolean;
  usedAt: number;
}

export class PageCache {
  readonly #store: Pick<KvReader, 'release'>;
  readonly #places: (CachedPage | undefined)[] = Array.from({ length: SETS * PLACES_PER_SET });
  #uses = 0;

  /** `store` made the values. */
  constructor(store: Pick<KvReader, 'release'>) {
    this.#store = store;
  }

  /** The page of this owner that begins at the revision, if it is kept. Whoever takes one gives it back. */
  take(owner: object, firstRevision: number): CachedPage | undefined {
    const from = firstPlace(firstRevision);
    for (let place = from; place < from + PLACES_PER_SET; place++) {
      const cached = this.#places[place];
      if (cached?.owner === owner && cached.page.firstRevision === firstRevision) return this.#use(cached);
    }
    return undefined;
  }

  /** Keeps a page that was read, in place of another; it is taken by whoever read it. */
  keep(owner: object, page: Page, value: Uint8Array): CachedPage {
    const cached: CachedPage = { page, value, owner, readers: 0, isKept: true, usedAt: 0 };
    const place = this.#oldest(firstPlace(page.firstRevision));
    const before = this.#places[place];
    this.#places[place] = cached;
    if (before !== undefined) {
      before.isKept = false;
      this.#letGo(before);
    }
    return this.#use(cached);
  }

  /** Nobody looks at what `take` or `keep` gave, or at anything read from it, again. */
  giveBack(cached: CachedPage): void {
    cached.readers -= 1;
    this.#letGo(cached);
  }

  #use(cached: CachedPage): CachedPage {
    this.#uses += 1;
    cached.usedAt = this.#uses;
    cached.readers += 1;
    return cached;
  }

  #letGo(cached: CachedPage): void {
    if (!cached.isKept && cached.readers === 0) this.#store.release(cached.value);
  }

  /** The empty place of a set, or else the one that was used longest ago. */
  #oldest(from: number): number {
    let oldest = from;
    let oldestUse = Number.POSITIVE_INFINITY;
    for (let place = from; place < from + PLACES_PER_SET; place++) {
      const usedAt = this.#places[place]?.usedAt ?? 0;
      if (usedAt < oldestUse) {
        oldest = place;
        oldestUse = usedAt;
      }
    }
    return oldest;
  }
}

function firstPlace(firstRevision: number): number {
  const hash = Math.imul(firstRevision % 2 ** 32, SPREAD) >>> 0;
  return Math.floor(hash / (2 ** 32 / SETS)) * PLACES_PER_SET;
}
