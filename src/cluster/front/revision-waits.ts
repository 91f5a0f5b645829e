/**
 * Waits until the rows of a revision can be read on this node; `latest` waits in group/read-barrier.ts first. For each
 * database, the front knows the readable revision and the revision returned to clients: the same or later (C6).
 *
 *   C30  Revisions shown to clients of this node never decrease. A local replica that lags them, because it was created
 *        after another replica had answered (an earlier local one or that of another node), counts as absent.
 *
 * A group is looked up in the store when a client asks for it and it has not reported yet, or when an answered revision
 * has no reported rows, because they may be there by now. Otherwise a group costs the front nothing.
 */
import { type GroupId, type Revision, toRevision } from '#base';
import type { WaitOutcome } from '../node.ts';

type Listener = (revision: Revision | undefined) => void;

interface Waiter {
  readonly revision: Revision;
  readonly resolve: (outcome: WaitOutcome) => void;
}

export class RevisionWaits {
  readonly #stored: (group: GroupId) => Revision;
  readonly #readable = new Map<GroupId, Revision>();
  readonly #answered = new Map<GroupId, Revision>();
  /** Revisions of other replicas than the current local one that clients were shown. */
  readonly #shown = new Map<GroupId, Revision>();
  readonly #listeners = new Map<GroupId, Set<Listener>>();
  readonly #waiters = new Map<GroupId, Set<Waiter>>();

  /** `stored` reads the revision of a group of the catalog from the store. */
  constructor(stored: (group: GroupId) => Revision) {
    this.#stored = stored;
  }

  /** True when a client waits for a revision that is not there yet. */
  get isFollowed(): boolean {
    return this.#waiters.size + this.#listeners.size > 0;
  }

  /** The revision whose rows can be read. */
  of(group: GroupId): Revision {
    const known = this.#readable.get(group);
    if (known !== undefined && known >= (this.#answered.get(group) ?? 0)) return known;
    this.advance(group, this.#stored(group));
    return this.#readable.get(group) ?? toRevision(0);
  }

  /** The highest revision that can be read or was returned to a client. */
  answered(group: GroupId): Revision {
    return highest(this.of(group), this.#answered.get(group), this.#shown.get(group));
  }

  /** A client is shown this revision of the local replica. */
  answer(group: GroupId, revision: Revision): void {
    this.#answered.set(group, highest(revision, this.#answered.get(group)));
  }

  /** The revision of another replica that clients were shown, while the local one lags it. */
  ahead(group: GroupId): Revision | undefined {
    const shown = this.#shown.get(group);
    if (shown === undefined || this.of(group) < shown) return shown;
    this.#shown.delete(group);
    return undefined;
  }

  /** A client is shown this revision of another replica. */
  show(group: GroupId, revision: Revision): void {
    this.#shown.set(group, highest(revision, this.#shown.get(group)));
  }

  /** Advances a group; an older revision has no effect. */
  advance(group: GroupId, revision: Revision): void {
    const known = this.#readable.get(group);
    if (known !== undefined && known >= revision) return;
    this.#readable.set(group, revision);
    for (const waiter of this.#waiters.get(group) ?? []) if (waiter.revision <= revision) waiter.resolve('reached');
    for (const listener of this.#listeners.get(group) ?? []) listener(revision);
  }

  /** Forgets a deleted group, and ends all waits for it. */
  remove(group: GroupId): void {
    this.#shown.delete(group);
    this.#readable.delete(group);
    this.#answered.delete(group);
    for (const waiter of this.#waiters.get(group) ?? []) waiter.resolve('gone');
    const listeners = this.#listeners.get(group);
    this.#listeners.delete(group);
    for (const listener of listeners ?? []) listener(undefined);
  }

  /** This node has another replica of the group, or none: rows in the store belong to one that is being deleted. */
  restart(group: GroupId): void {
    const answered = this.answered(group);
    this.remove(group);
    this.#readable.set(group, toRevision(0));
    this.#shown.set(group, answered);
  }

  /** Calls the listener whenever the group advances. */
  listen(group: GroupId, listener: Listener): () => void {
    this.of(group);
    add(this.#listeners, group, listener);
    return () => take(this.#listeners, group, listener);
  }

  /** Resolves when the rows of the revision can be read, the group is gone, or the signal fires. Never rejects. */
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
