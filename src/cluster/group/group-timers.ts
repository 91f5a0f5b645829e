/**
 * The groups that time matters to, and which of them are due: those without a leader, and those with other members. A
 * group that leads alone needs no ticks, so a node with many idle groups of its own has nothing to do for them.
 *
 * Most deadlines are moved on again and again before they come: every beat moves an election. So nobody looks at all
 * groups, and nothing is done when a deadline is moved on. A group waits in a slot of time that is not after its
 * deadline; when the slot comes, its deadline is read, and it is due, or waits in a later one.
 */
import { AskingPace } from './asking-pace.ts';
import type { Group } from './group.ts';

/** After such a gap between two looks, what has arrived meanwhile is heard before time counts (C10). */
const GAP_MS = 250;
const SLOT_MS = 50;
/** Of a group that waits for no time to come. */
const NO_SLOT = Number.POSITIVE_INFINITY;

/** What counts of a group. */
export interface TimedGroup {
  readonly isOpen: boolean;
  readonly isAlone: boolean;
  readonly leads: boolean;
  /** When it is to be stepped, or somewhat sooner; undefined: it waits for no time to come. */
  readonly deadlineMs: number | undefined;
}

export class GroupTimers<Timed extends TimedGroup = Group> {
  /** Each with the slot that it waits in. */
  readonly #groups = new Map<Timed, number>();
  /** Some of those in a slot may have left it for an earlier one. */
  readonly #slots = new Map<number, Timed[]>();
  readonly #asking: AskingPace;
  #lookedMs: number | undefined;
  #hasWaited = false;

  constructor(asking: AskingPace = new AskingPace(Number.POSITIVE_INFINITY)) {
    this.#asking = asking;
  }

  /** The groups that time matters to. */
  get groups(): Iterable<Timed> {
    return this.#groups.keys();
  }

  /** When the first of them is due; undefined when none waits for anything. */
  get deadlineMs(): number | undefined {
    let first: number | undefined;
    for (const group of this.#groups.keys()) {
      const { deadlineMs } = group;
      if (deadlineMs !== undefined && (first === undefined || deadlineMs < first)) first = deadlineMs;
    }
    return first;
  }

  /** Whether what has arrived is to be heard before time counts, as of the last look (C10). */
  get isHeldUp(): boolean {
    return this.#hasWaited;
  }

  /** A group was opened, or its role or its members have changed. */
  review(group: Timed): void {
    if (!group.isOpen || (group.isAlone && group.leads)) this.forget(group);
    else if (!this.#groups.has(group)) {
      this.#groups.set(group, NO_SLOT);
      this.stepped(group);
    }
  }

  /** A group was stepped: its deadline may be earlier than it was. */
  stepped(group: Timed): void {
    const slot = this.#groups.get(group);
    if (slot === undefined) return;
    const { deadlineMs } = group;
    if (deadlineMs !== undefined && slotOf(deadlineMs) < slot) this.#wait(group, slotOf(deadlineMs));
  }

  forget(group: Timed): void {
    this.#groups.delete(group);
  }

  /**
   * The groups with a deadline that has passed; each is to be stepped. When this thread stood still, messages that
   * would have moved deadlines may be waiting: then groups with other members wait for one more look, once. Where too
   * many would ask for their leads the others are due at the next look.
   */
  due(nowMs: number): readonly Timed[] {
    const isGap = this.#lookedMs !== undefined && nowMs - this.#lookedMs > GAP_MS;
    const mustWait = isGap && !this.#hasWaited;
    this.#lookedMs = nowMs;
    this.#hasWaited = mustWait;
    this.#asking.look(nowMs);
    const due: Timed[] = [];
    for (const group of this.#takeUntil(slotOf(nowMs))) {
      const { deadlineMs } = group;
      if (deadlineMs === undefined) continue;
      const isDue = deadlineMs <= nowMs && (!mustWait || group.isAlone);
      if (isDue && (group.leads || this.#asking.take())) due.push(group);
      else this.#wait(group, slotOf(isDue ? nowMs + SLOT_MS : deadlineMs));
    }
    return due;
  }

  /** Takes the groups out of every slot up to this one. They wait in none until somebody says so. */
  #takeUntil(last: number): readonly Timed[] {
    const taken: Timed[] = [];
    for (const [slot, groups] of this.#slots) {
      if (slot > last) continue;
      this.#slots.delete(slot);
      for (const group of groups) {
        if (this.#groups.get(group) !== slot) continue;
        this.#groups.set(group, NO_SLOT);
        taken.push(group);
      }
    }
    return taken;
  }

  #wait(group: Timed, slot: number): void {
    this.#groups.set(group, slot);
    const others = this.#slots.get(slot);
    if (others === undefined) this.#slots.set(slot, [group]);
    else others.push(group);
  }
}

function slotOf(deadlineMs: number): number {
  return Math.floor(deadlineMs / SLOT_MS);
}
