/**
 * Fold snapshots: stores states of folds on this node, and chooses the one from which a read continues.
 *
 * ```
 * name       fold_readAt_revision_index_seconds_nanos_chain     content: the state
 * ```
 * `fold` is `foldKey` (view-read.ts): a hash of database, view, fold epoch, code, selector, order, and of the title for
 * components of the SDK.
 *
 * A fold snapshot is the state after all selected events up to revision `readAt` whose position, in the order of the
 * fold, is at or before `last`. This determines where it can be used, whatever cut it was created with:
 *
 *   by revision         for every revision from that of `last` on; nothing can come before an event any more
 *   by effective time   for every revision from `readAt` on and every cut at or after `last`, unless an event came later
 *                       whose time is before that of `last`
 *
 * `chain` is the chain hash of the database there. If a node lost revisions without a quorum and its history became
 * another one, the hashes differ, and old snapshots are ignored.
 *
 * F4  A fold from a snapshot has the same result as a fold from the first event.
 */
import { compareInstants, INSTANT_SECONDS_MIN, type Instant, toHex } from '#base';
import { DatabaseReader } from '#database';
import { comparePositions, type EventQuery, type FoldOrder } from '#model';
import { databaseAtRevision, queryEvents } from '#query';
import type { CacheFolder } from './cache-folder.ts';
import type { LastEvent } from './event-batches.ts';
import type { ViewRead } from './view-read.ts';

interface SnapshotPlace {
  readonly readAt: number;
  readonly last: LastEvent;
  /** Chain hash at the later of `readAt` and the revision of `last`. */
  readonly chain: string;
}

interface NamedPlace extends SnapshotPlace {
  readonly name: string;
}

/** The state of a fold after its event `last`. */
export interface KeptState {
  readonly state: Uint8Array;
  readonly last: LastEvent;
}

/** Maximum number of snapshots per fold; the least recently used one is evicted. */
const KEPT_MAX = 8;
const PLACE = /^[0-9a-f]+_(\d+)_(\d+)_(\d+)_(-?\d+)_(\d+)_([0-9a-f]+)$/;

export class FoldSnapshots {
  readonly #folder: CacheFolder;

  constructor(folder: CacheFolder) {
    this.#folder = folder;
  }

  /** Chooses the most advanced snapshot that can be used for the read; undefined when there is none. */
  async furthest(fold: string, read: ViewRead): Promise<KeptState | undefined> {
    for (const place of this.#places(fold, read.order)) {
      if (!(await holds(read, place))) continue;
      const state = await this.#folder.get(place.name);
      // Its file may be missing or damaged.
      if (state !== undefined) return { state, last: place.last };
    }
    return undefined;
  }

  /** Returns the name of the file; undefined when the folder has refused it. */
  async keep(
    fold: string,
    read: ViewRead,
    { readAt, last, state }: KeptState & { readonly readAt: number },
  ): Promise<string | undefined> {
    const { position, effective } = last;
    const chain = await chainAt(read, Math.max(readAt, position.revision));
    const place = [readAt, position.revision, position.index, effective.seconds, effective.nanos, chain];
    const name = `${fold}_${place.join('_')}`;
    await this.#folder.put(name, state);
    const [oldest, ...others] = this.#folder.named(fold);
    if (oldest !== undefined && others.length >= KEPT_MAX) await this.#folder.drop(oldest);
    return this.#folder.named(fold).includes(name) ? name : undefined;
  }

  drop(name: string): Promise<void> {
    return this.#folder.drop(name);
  }

  /** Snapshots of a fold in the order of events: the furthest first. */
  #places(fold: string, order: FoldOrder): readonly NamedPlace[] {
    const places = this.#folder
      .named(fold)
      .map(placeIn)
      .filter((place) => place !== undefined);
    return places.toSorted((left, right) => comparePlaces(right, left, order));
  }
}

function placeIn(name: string): NamedPlace | undefined {
  const [, readAt, revision, index, seconds, nanos, chain] = PLACE.exec(name) ?? [];
  if (chain === undefined) return undefined;
  const position = { revision: Number(revision), index: Number(index) };
  const effective: Instant = { seconds: Number(seconds), nanos: Number(nanos) };
  return { name, readAt: Number(readAt), last: { position, effective }, chain };
}

function comparePlaces(left: SnapshotPlace, right: SnapshotPlace, order: FoldOrder): number {
  const times = order === 'revision' ? 0 : compareInstants(left.last.effective, right.last.effective);
  return times || comparePositions(left.last.position, right.last.position) || left.readAt - right.readAt;
}

/** Returns whether a snapshot can be used for the read. */
async function holds(read: ViewRead, { readAt, last, chain }: NamedPlace): Promise<boolean> {
  const { source, order, at, cut } = read;
  const known = Math.max(readAt, last.position.revision);
  const applied = new DatabaseReader(source).applied();
  if (applied === undefined || known > applied.revision || (await chainAt(read, known)) !== chain) return false;
  if (order === 'revision') return last.position.revision <= at;
  if (readAt > at || cut === undefined || compareInstants(last.effective, cut) > 0) return false;
  return readAt === at || !(await hasEarlier(read, { readAt, before: last.effective }));
}

/** Returns whether an event was added later than a snapshot whose effective time is before its end. */
async function hasEarlier(
  { source, selector, at }: ViewRead,
  { readAt, before }: { readonly readAt: number; readonly before: Instant },
): Promise<boolean> {
  const end = justBefore(before);
  if (end === undefined) return false;
  const query: EventQuery = {
    selector,
    revisions: { start: readAt + 1, end: at },
    effectiveTime: { end },
    direction: 'forward',
    limit: 1,
  };
  for await (const slice of queryEvents(source, { at, query })) if (slice.length > 0) return true;
  return false;
}

const NANOS_MAX = 999_999_999;

function justBefore({ seconds, nanos }: Instant): Instant | undefined {
  if (nanos > 0) return { seconds, nanos: nanos - 1 };
  return seconds > INSTANT_SECONDS_MIN ? { seconds: seconds - 1, nanos: NANOS_MAX } : undefined;
}

const CHAIN_DIGITS = 32;

async function chainAt({ source }: ViewRead, revision: number): Promise<string> {
  return toHex((await databaseAtRevision(source, revision)).chainHash).slice(0, CHAIN_DIGITS);
}
