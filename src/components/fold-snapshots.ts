/**
 * Fold snapshots: states of folds on this node, from which later folds continue.
 *
 * ```
 * name       fold_readAt_revision_index_seconds_nanos_chain     content: the state
 * ```
 * A fold snapshot is the state after all selected events up to revision `readAt` whose position, in the order of the
 * fold, is at or before `last`. This determines where it can be used, whatever cut it was created with:
 *
 *   by revision         for every revision from that of `last` on; nothing can come before an event any more
 *   by effective time   for every revision from `readAt` on and every cut at or behind `last`, unless an event came later
 *                       whose time is before that of `last`
 *
 * `chain` is the chain hash of the database there. If a node lost revisions without a quorum and its history became
 * another one, the hashes differ, and old snapshots are ignored.
 *
 * F4  A fold from a snapshot has the same result as a fold from the first event.
 */
import { compareInstants, type Instant } from '#base';
import { comparePositions, type FoldOrder } from '#model';
import type { CacheFolder } from './cache-folder.ts';
import type { LastEvent } from './event-batches.ts';

export interface SnapshotPlace {
  readonly readAt: number;
  readonly last: LastEvent;
  /** Chain hash at the later of `readAt` and the revision of `last`. */
  readonly chain: string;
}

export interface FoldSnapshot extends SnapshotPlace {
  readonly state: Uint8Array;
}

export interface NamedPlace extends SnapshotPlace {
  readonly name: string;
}

/** Maximum number of snapshots per fold; the least recently used one is evicted. */
const KEPT_MAX = 8;
const PLACE = /^[0-9a-f]+_(\d+)_(\d+)_(\d+)_(-?\d+)_(\d+)_([0-9a-f]+)$/;

export class FoldSnapshots {
  readonly #folder: CacheFolder;

  constructor(folder: CacheFolder) {
    this.#folder = folder;
  }

  /** Snapshots of a fold in the order of events: the furthest first. */
  places(fold: string, order: FoldOrder): readonly NamedPlace[] {
    const places = this.#folder
      .named(fold)
      .map(placeIn)
      .filter((place) => place !== undefined);
    return places.toSorted((left, right) => comparePlaces(right, left, order));
  }

  /** State of a snapshot; undefined when its file is missing or damaged. */
  state({ name }: NamedPlace): Promise<Uint8Array | undefined> {
    return this.#folder.get(name);
  }

  /** Returns the name of the file; undefined when the folder has refused it. */
  async keep(fold: string, { readAt, last, chain, state }: FoldSnapshot): Promise<string | undefined> {
    const { position, effective } = last;
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
