/**
 * Polls the databases of this node, a bounded number at a time, until it is disposed of.
 *
 * A definition does not change the revision, a follower learns of it from its log, and whether this node may answer for
 * a database changes with the cluster. The next poll finds any change, so no notifications are needed. A poll costs one
 * read for a database without definitions, and opens no component.
 */
import type { Binding } from '#cluster';
import type { ServiceContext } from '../context.ts';
import { isFatal } from '../fatal.ts';

export interface PollListeners {
  /** Called when the node must stop. */
  readonly onFatal: (failure: unknown) => void;
  /** Called for the first failure to poll a database since the last success; it is retried. */
  readonly onFailure: (binding: Binding, failure: unknown) => void;
}

export interface PollWork {
  /** Databases to poll before the others, which are not polled again in this round. */
  readonly first?: () => Promise<readonly Binding[]>;
  readonly look: (binding: Binding) => Promise<void>;
  /** Returns whether the next poll finds out: the failure is not reported. */
  readonly isLater: (failure: unknown) => boolean;
}

export class DatabasePoll implements Disposable {
  readonly #context: ServiceContext;
  readonly #listeners: PollListeners;
  readonly #failing = new WeakSet<Binding>();
  #next = 0;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(context: ServiceContext, listeners: PollListeners) {
    this.#context = context;
    this.#listeners = listeners;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  begin(work: PollWork): this {
    this.#stopTimer = this.#context.timers.after(this.#context.limits.viewPollMs, () => void this.#round(work));
    return this;
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  async #round(work: PollWork): Promise<void> {
    const { node, limits } = this.#context;
    const first = (await work.first?.()) ?? [];
    const { items, next } = turn(node.catalog.list(), this.#next, limits.viewsPerPollMax);
    this.#next = next;
    for (const binding of new Set([...first, ...items])) if (!this.#isStopped) await this.#look(binding, work);
    if (!this.#isStopped) this.begin(work);
  }

  async #look(binding: Binding, { look, isLater }: PollWork): Promise<void> {
    try {
      await look(binding);
      this.#failing.delete(binding);
    } catch (failure) {
      if (isFatal(failure)) this.#listeners.onFatal(failure);
      else if (!this.#isStopped && !isLater(failure)) this.#failed(binding, failure);
    }
  }

  #failed(binding: Binding, failure: unknown): void {
    if (!this.#failing.has(binding)) this.#listeners.onFailure(binding, failure);
    this.#failing.add(binding);
  }
}

/** Returns the next items in round-robin order. */
export function turn<Item>(
  all: readonly Item[],
  from: number,
  count: number,
): { readonly items: readonly Item[]; readonly next: number } {
  const begin = from < all.length ? from : 0;
  const items = all.slice(begin, begin + count);
  return { items, next: begin + items.length };
}
