/**
 * How far each database is on this node, as the front knows it, and who waits for it to go further: the revision whose
 * rows can be read, and the one that somebody was told of, which is the same or a little ahead (C6).
 *
 *   C30  What clients of this node were shown of a database does not go back. A copy here that is behind it, for it was
 *        begun after another one had answered them, this node's own or another node's, counts as none.
 *
 * A group is looked up in the store when somebody asks for it and it has not reported yet, or when something was
 * answered whose rows were not reported: they may be there by now. Otherwise a group costs the front nothing.
 */
import { type GroupId, type Revision, toRevision } from '#base';
import type { WaitOutcome } from '../node.ts';

type Listener = (revision: Revision | undefined) => void;

interface Waiter {
  readonly revision: Revision;
  readonly resolve: (outcome: WaitOutcome) => void;
}

export class Revisions {
  readonly #stored: (group: GroupId) => Revision;
  readonly #applied = new Map<GroupId, Revision>();
  readonly #answered = new Map<GroupId, Revision>();
  /** What somebody was shown here of another copy than the one that this node holds now. */
  readonly #shown = new Map<GroupId, Revision>();
  readonly #listeners = new Map<GroupId, Set<Listener>>();
  readonly #waiters = new Map<GroupId, Set<Waiter>>();

  /** `stored` reads the applied revision of a group of the catalog from the store. */
  constructor(stored: (group: GroupId) => Revision) {
    this.#stored = stored;
  }

  /** Whether somebody waits for what is not there yet. */
  get isFollowed(): boolean {
    return this.#waiters.size + this.#listeners.size > 0;
  }

  /** The revision whose rows can be read. */
  of(group: GroupId): Revision {
    const known = this.#applied.get(group);
    if (known !== undefined && known >= (this.#answered.get(group) ?? 0)) return known;
    this.advance(group, this.#stored(group));
    return this.#applied.get(group) ?? toRevision(0);
  }

  /** The highest revision that can be read or that somebody was told of. */
  answered(group: GroupId): Revision {
    return highest(this.of(group), this.#answered.get(group), this.#shown.get(group));
  }

  /** Somebody is told of this revision of the copy here. */
  answer(group: GroupId, revision: Revision): void {
    this.#answered.set(group, highest(revision, this.#answered.get(group)));
  }

  /** The revision that somebody was shown of another copy, while the one of this node is behind it. */
  ahead(group: GroupId): Revision | undefined {
    const shown = this.#shown.get(group);
    if (shown === undefined || this.of(group) < shown) return shown;
    this.#shown.delete(group);
    return undefined;
  }

  /** Somebody is told of this revision of another copy. */
  show(group: GroupId, revision: Revision): void {
    this.#shown.set(group, highest(revision, this.#shown.get(group)));
  }

  /** Moves a group forward; an older revision changes nothing. */
  advance(group: GroupId, revision: Revision): void {
    const known = this.#applied.get(group);
    if (known !== undefined && known >= revision) return;
    this.#applied.set(group, revision);
    for (const waiter of this.#waiters.get(group) ?? []) if (waiter.revision <= revision) waiter.resolve('reached');
    for (const listener of this.#listeners.get(group) ?? []) listener(revision);
  }

  /** Forgets a deleted group, and tells everybody who waits for it. */
  remove(group: GroupId): void {
    this.#shown.delete(group);
    this.#applied.delete(group);
    this.#answered.delete(group);
    for (const waiter of this.#waiters.get(group) ?? []) waiter.resolve('gone');
    const listeners = this.#listeners.get(group);
    this.#listeners.delete(group);
    for (const listener of listeners ?? []) listener(undefined);
  }

  /** This node holds another copy of the group, or none: what is in the store is of one that is being cleared. */
  restart(group: GroupId): void {
    const answered = this.answered(group);
    this.remove(group);
    this.#applied.set(group, toRevision(0));
    this.#shown.set(group, answered);
  }

  /** Calls the listener whenever the group goes further than it is now. */
  listen(group: GroupId, listener: Listener): () => void {
    this.of(group);
    add(this.#listeners, group, listener);
    return () => take(this.#listeners, group, listener);
  }

  /** Resolves when the revision is applied, the group is gone, or the signal fires. Never rejects. */
  async wait(group: GroupId, revision: Revision, signal?: AbortSignal): Promise<WaitOutcome> {
    if (this.of(group) >= revision) return 'reached';
    if (signal?.aborted === true) return 'aborted';
    const { promise, resolve } = Promise.withResolvers<WaitOutcome>();
    const waiter: Waiter = { revision, resolve };
    const abort = (): void => resolve('aborted');
    add(this.#waiters, group, waiter);
    signal?.addEventListener('abort', abort, { once: true });
    const outcome = await promise;
    signal?.removeEventListener('abort', abort);
    take(this.#waiters, group, waiter);
    return outcome;
  }
}

function highest(first: Revision, ...others: readonly (Revision | undefined)[]): Revision {
  return others.reduce<Revision>((high, other) => (other !== undefined && other > high ? other : high), first);
}

function add<Item>(sets: Map<GroupId, Set<Item>>, group: GroupId, item: Item): void {
  const set = sets.get(group);
  if (set === undefined) sets.set(group, new Set([item]));
  else set.add(item);
}

function take<Item>(sets: Map<GroupId, Set<Item>>, group: GroupId, item: Item): void {
  const set = sets.get(group);
  set?.delete(item);
  if (set?.size === 0) sets.delete(group);
}
