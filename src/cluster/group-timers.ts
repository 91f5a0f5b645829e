/**
 * The groups that time matters to, and when the next of them wants a tick: those without a leader, and those with other
 * members. A group that leads alone needs none, so a node with many idle groups of its own has nothing to do for them.
 */
import { nextDeadline } from '#raft';
import type { Group } from './group.ts';

/** After such a gap between two looks, what has arrived meanwhile is heard before time counts (C10). */
const GAP_MS = 250;

export class GroupTimers {
  readonly #groups = new Set<Group>();
  #lookedMs: number | undefined;
  #hasWaited = false;

  /** The groups that time matters to. */
  get groups(): Iterable<Group> {
    return this.#groups;
  }

  /** When the first of them is due; undefined when none waits for anything. */
  get deadlineMs(): number | undefined {
    let first: number | undefined;
    for (const group of this.#groups) {
      const deadlineMs = nextDeadline(group.raft.timers);
      if (deadlineMs !== undefined && (first === undefined || deadlineMs < first)) first = deadlineMs;
    }
    return first;
  }

  /** A group was opened, or its role or its members have changed. */
  review(group: Group): void {
    if (group.isOpen && !(group.isAlone && group.leads)) this.#groups.add(group);
    else this.#groups.delete(group);
  }

  forget(group: Group): void {
    this.#groups.delete(group);
  }

  /**
   * The groups with a deadline that has passed. When this thread stood still, messages that would have moved deadlines
   * may be waiting: then groups with other members wait for one more look, once.
   */
  due(nowMs: number): readonly Group[] {
    const isGap = this.#lookedMs !== undefined && nowMs - this.#lookedMs > GAP_MS;
    const mustWait = isGap && !this.#hasWaited;
    this.#lookedMs = nowMs;
    this.#hasWaited = mustWait;
    const isDue = (group: Group): boolean => (nextDeadline(group.raft.timers) ?? nowMs + 1) <= nowMs;
    return [...this.#groups].filter((group) => isDue(group) && (group.isAlone || !mustWait));
  }
}
