/**
 * The next revision that can hold a selected event, from the heads of the selector's lists.
 *
 * A walk over the pages tests every event. Where nothing is selected for a long while, this is how it gets on: reading
 * the heads of all lists that the selector names, thousands of them for a prefix, costs about as much as testing some
 * ten thousand events, and tells how far the next one is. (Q4)
 */
import { type DatabaseReader, type HeadContent, walkHeads } from '#database';
import { normalise, type Selector } from '#model';
import type { Bounds } from './bounds.ts';
import { settled } from './hits.ts';
import { listHits } from './list-hits.ts';
import { type Lists, listsOf, type Prefix } from './lists.ts';
import { END_RANK, positionOf, type RankRange, rankRange } from './rank.ts';

export interface NextMatch {
  /**
   * In the direction of the bounds, at or behind the revision that was asked from; undefined: there is none. Where too
   * many heads would have to be read, the one that was asked from.
   */
  readonly revision: number | undefined;
  /** Heads that had to be read for it. */
  readonly headCount: number;
}

export interface NextMatchOptions {
  readonly selector: Selector;
  /** Asked from their first revision on, in their direction. */
  readonly bounds: Bounds;
  /** Heads that may be read. */
  readonly headsMax: number;
}

export async function nextMatch(
  reader: DatabaseReader,
  { selector, bounds, headsMax }: NextMatchOptions,
): Promise<NextMatch> {
  const search = new Search(reader, bounds, headsMax);
  let least = END_RANK;
  for (const conjunction of normalise(selector)) least = Math.min(least, await search.ofAll(listsOf(conjunction)));
  return { revision: least === END_RANK ? undefined : positionOf(least).revision, headCount: search.headCount };
}

class Search {
  readonly #reader: DatabaseReader;
  readonly #bounds: Bounds;
  readonly #range: RankRange;
  readonly #headsMax: number;
  headCount = 0;

  constructor(reader: DatabaseReader, bounds: Bounds, headsMax: number) {
    this.#headsMax = headsMax;
    this.#reader = reader;
    this.#bounds = bounds;
    this.#range = rankRange(bounds.first, bounds.last, bounds.direction);
  }

  /** No event that is in all of them comes before this. */
  async ofAll({ names, prefixes }: Lists): Promise<number> {
    let least = this.#range.first;
    for (const name of names) {
      const head = this.#reader.head(name);
      least = Math.max(least, head === undefined ? END_RANK : await this.#ofList(head, END_RANK));
    }
    for (const prefix of prefixes) least = Math.max(least, await this.#ofPrefix(prefix));
    return least;
  }

  async #ofPrefix({ kind, prefix }: Prefix): Promise<number> {
    const { first, last, direction } = this.#bounds;
    const nearest = direction === 'forward' ? first : last;
    let least = END_RANK;
    for await (const heads of walkHeads(this.#reader, { kind, prefix })) {
      for (const head of heads) least = Math.min(least, await this.#ofList(head, least));
      if (this.headCount > this.#headsMax) return this.#range.first;
      if (positionOf(least).revision === nearest) break;
    }
    return least;
  }

  /** The first entry of a list, or something above `known` when it does not come before that. */
  async #ofList(head: HeadContent, known: number): Promise<number> {
    this.headCount++;
    if (head.firstRevision > this.#bounds.last) return END_RANK;
    const hits = listHits(this.#reader, head, this.#range);
    hits.seek(this.#range.first);
    if (!hits.ready && hits.rank < known) await settled(hits);
    await hits.release();
    return hits.rank;
  }
}
