/**
 * Timers of groups: those without a leader and those with other members need ticks. A group that leads alone needs
 * none, so many idle groups cost nothing.
 *
 * Most deadlines are moved before they are reached: every heartbeat moves an election timeout. So moving a deadline
 * does nothing, and there is no loop over all groups. A group waits in a time slot that is not after its deadline; when
 * the slot is reached, its deadline is read, and it is due, or waits in a later slot.
 */
import { AskingPace } from './asking-pace.ts';
import type { Group } from './group.ts';

/** After such a gap between two ticks, messages that arrived meanwhile are handled first (C10). */
const GAP_MS = 250;
const SLOT_MS = 50;
/** Slot of a group without a deadline. */
const NO_SLOT = Number.POSITIVE_INFINITY;

/** The used properties of a group. */
export interface TimedGroup {
  readonly isOpen: boolean;
  readonly isAlone: boolean;
  readonly leads: boolean;
  /** Time of the next step, or somewhat earlier; undefined: it waits for no time. */
  readonly deadlineMs: number | undefined;
}

export class GroupTimers<Timed extends TimedGroup = Group> {
  /** Groups, each with the slot that it waits in. */
  readonly #groups = new Map<Timed, number>();
  /** Some groups in a slot may have left it for an earlier one. */
  readonly #slots = new Map<number, Timed[]>();
  readonly #asking: AskingPace;
  #lookedMs: number | undefined;
  #hasWaited = false;

  constructor(asking: AskingPace = new AskingPace(Number.POSITIVE_INFINITY)) {
    this.#asking = asking;
  }

  /** Groups with timers. */
  get groups(): Iterable<Timed> {
    return this.#groups.keys();
  }

  /** The earliest deadline; undefined when no group waits. */
  get deadlineMs(): number | undefined {
    let first: number | undefined;
    for (const group of this.#groups.keys()) {
      const { deadlineMs } = group;
      if (deadlineMs !== undefined && (first === undefined || deadlineMs < first)) first = deadlineMs;
    }
    return first;
  }

  /** True when pending messages must be handled before timeouts, as of the last tick (C10). */
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

  /** A group was stepped: its deadline may be earlier than before. */
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
   * Groups whose deadline has passed and that must be stepped. After this thread was suspended, messages that move
   * deadlines may be pending: groups with other members then wait for one more tick. If too many would campaign, the
   * others are due at the next tick.
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

  /** Removes the groups from every slot up to this one. */
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
