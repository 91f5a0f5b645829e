/**
 * The next revision that can hold a selected event, from the heads of the selector's lists.
 *
 * A walk over the history tests every event. It uses this when it has found no match for a long time. Reading the heads
 * costs about as much as testing ten thousand events, since a prefix has thousands of lists, and gives the distance to
 * the next match. (Q4)
 */
import {
  type DatabaseReader,
  END_RANK,
  type HeadContent,
  type Lists,
  listHits,
  listsOf,
  type Prefix,
  positionOf,
  type RankRange,
  rankRange,
  settled,
  walkHeads,
} from '#database';
import { normalise, type Selector } from '#model';
import type { Bounds } from './bounds.ts';

export interface NextMatch {
  /**
   * At or after the start, in the direction of the bounds; undefined: no further match. With too many heads to read,
   * the start itself.
   */
  readonly revision: number | undefined;
  /** Number of heads that were read. */
  readonly headCount: number;
}

export interface NextMatchOptions {
  readonly selector: Selector;
  /** The search starts at the first revision of the bounds, in their direction. */
  readonly bounds: Bounds;
  /** Maximum number of heads to read. */
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

  /** Lower bound of the events that are in all lists. */
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

  /** Rank of the first entry of a list, or a lower bound of it at or above `known`. */
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
