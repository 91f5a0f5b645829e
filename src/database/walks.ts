/**
 * Walks over many rows, in slices: heads by prefix (the listings), events by effective time, pages.
 *
 * Each is an async generator that yields what one wait fetched. Leaving the loop early closes the range underneath.
 */
import { compareBytes } from '#base';
import type { KvRange, KvRow } from '#kv';
import { type HeadContent, readHead } from './head.ts';
import { type HeadKind, headTerm, readTimeKey } from './keys.ts';
import { Page } from './page.ts';
import type { PostingEntry } from './posting.ts';
import type { DatabaseReader } from './reader.ts';
import { readTimeRow } from './small-rows.ts';

const ROWS_PER_WAIT = 256;

export interface HeadWalk {
  readonly kind: HeadKind;
  /** Only terms that begin with it. */
  readonly prefix: Uint8Array;
  /** Only terms behind it, in byte order. */
  readonly after?: Uint8Array;
  /** Only heads that had an event at this revision. Absent: whoever walks leaves out, and counts, what came later. */
  readonly at?: number;
}

/** Heads in the byte order of their terms, never "no subject". */
export async function* walkHeads(reader: DatabaseReader, walk: HeadWalk): AsyncGenerator<readonly HeadContent[]> {
  const { gte, lt } = reader.keys.heads(walk.kind, walk.prefix);
  const start = walk.after === undefined ? gte : laterKey(gte, behindTerm(reader, walk.kind, walk.after));
  for await (const rows of slices(reader.source.kv.range({ gte: start, lt }))) {
    const heads = rows.map(({ key, value }) =>
      readHead({ kind: walk.kind, term: headTerm(walk.kind, key) }, key, value),
    );
    const { at } = walk;
    yield at === undefined ? heads : heads.filter((head) => head.firstRevision <= at);
  }
}

export interface TimeWalk {
  /** Whole seconds `[fromSecond, toSecond)`; finer bounds are for whoever asks, entries carry their nanoseconds. */
  readonly fromSecond: number;
  readonly toSecond: number;
  /** Entries of later revisions are left out. */
  readonly at: number;
  readonly direction: 'forward' | 'reverse';
}

/** Events by effective time, then position; each yield holds whole seconds, in the order of the walk. */
export async function* walkTimes(reader: DatabaseReader, walk: TimeWalk): AsyncGenerator<readonly PostingEntry[]> {
  const { gte, lt } = reader.keys.times(walk.fromSecond, walk.toSecond);
  const range = reader.source.kv.range({ gte, lt, reverse: walk.direction === 'reverse' });
  let second: PostingEntry[] = [];
  for await (const rows of slices(range)) {
    let done: PostingEntry[] = [];
    for (const row of rows) {
      const place = readTimeKey(row.key);
      if (second[0] !== undefined && second[0].seconds !== place.seconds) {
        done = done.concat(inOrder(second, walk.direction));
        second = [];
      }
      if (place.firstRevision > walk.at) continue;
      for (const entry of readTimeRow(row.key, row.value, place)) if (entry.revision <= walk.at) second.push(entry);
    }
    if (done.length > 0) yield done;
  }
  if (second.length > 0) yield inOrder(second, walk.direction);
}

function inOrder(second: PostingEntry[], direction: TimeWalk['direction']): PostingEntry[] {
  const sign = direction === 'forward' ? 1 : -1;
  return second.toSorted((a, b) => sign * (a.nanos - b.nanos || a.revision - b.revision || a.index - b.index));
}

export interface PageWalk {
  /** Pages that hold a revision in `[from, to)`. */
  readonly from: number;
  readonly to: number;
  readonly direction: 'forward' | 'reverse';
}

/** Pages in the order of the walk, headers verified. `from` is 1 or more and applied. */
export async function* walkPages(reader: DatabaseReader, walk: PageWalk): AsyncGenerator<readonly Page[]> {
  if (walk.from >= walk.to) return;
  const { gte, lt } = reader.keys.pages(reader.pageStart(walk.from), walk.to);
  const range = reader.source.kv.range({ gte, lt, reverse: walk.direction === 'reverse' });
  for await (const rows of slices(range)) {
    yield rows.map(({ key, value }) => new Page(key, value, reader.source.crc32));
  }
}

/** The rows of a range, slice by slice; closes it at the end and when the loop is left. */
export async function* slices(range: KvRange): AsyncGenerator<readonly KvRow[]> {
  try {
    for (;;) {
      const rows = await range.next(ROWS_PER_WAIT);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    await range.close();
  }
}

function behindTerm(reader: DatabaseReader, kind: HeadKind, term: Uint8Array): Uint8Array {
  // A term is ended by 00, so the least key behind it ends with 01: longer terms that it begins stay in.
  const key = reader.keys.head({ kind, term }).slice();
  key[key.length - 1] = 1;
  return key;
}

function laterKey(left: Uint8Array, right: Uint8Array): Uint8Array {
  return compareBytes(left, right) < 0 ? right : left;
}
