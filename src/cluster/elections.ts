/**
 * The groups that have no leader yet, and when the next of them wants a tick. Groups that lead need none, so a node
 * with many idle groups has nothing to do for them.
 */
import { nextDeadline } from '#raft';
import type { Group } from './group.ts';

export class Elections {
  readonly #leaderless = new Set<Group>();

  get count(): number {
    return this.#leaderless.size;
  }

  /** A group that was just opened. */
  watch(group: Group): void {
    this.#leaderless.add(group);
  }

  forget(group: Group): void {
    this.#leaderless.delete(group);
  }

  /** When the first of them is due; undefined when all have a leader. */
  get deadlineMs(): number | undefined {
    let first: number | undefined;
    for (const group of this.#leaderless) {
      const deadlineMs = nextDeadline(group.raft.timers);
      if (deadlineMs !== undefined && (first === undefined || deadlineMs < first)) first = deadlineMs;
    }
    return first;
  }

  due(nowMs: number): readonly Group[] {
    return [...this.#leaderless].filter((group) => (nextDeadline(group.raft.timers) ?? nowMs + 1) <= nowMs);
  }
}
