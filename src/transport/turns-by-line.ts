/**
 * Queues that are served in turn: one waiter of the first queue, one of the second, and so on, and first come first
 * served within a queue. A queue with many waiters is served as often as any other.
 */
import { Link, LinkedList } from '#base';

export class Line<Waiter> {
  readonly waiters: LinkedList<Waiter> = new LinkedList<Waiter>();
  /** Used by `TurnsByLine` only. */
  readonly link: Link<Line<Waiter>> = new Link<Line<Waiter>>(this);
}

export class TurnsByLine<Waiter> {
  /** Lines with waiters. The first one has the next turn. */
  readonly #lines = new LinkedList<Line<Waiter>>();

  /** Returns the waiter with the next turn. A line whose first waiter is not accepted is skipped. */
  first(accepts: (waiter: Waiter) => boolean = () => true): Waiter | undefined {
    return this.#lines.find(({ waiters: { first } }) => first !== undefined && accepts(first))?.waiters.first;
  }

  /** Returns the first waiter of each line, in order of their turns. */
  *firsts(): Generator<Waiter, void> {
    for (const { waiters } of this.#lines.values()) if (waiters.first !== undefined) yield waiters.first;
  }

  add(line: Line<Waiter>, waiter: Link<Waiter>): void {
    line.waiters.append(waiter);
    if (line.waiters.size === 1) this.#lines.append(line.link);
  }

  /** Removes a waiter that has given up. False when it is not in the line. */
  remove(line: Line<Waiter>, waiter: Link<Waiter>): boolean {
    if (!line.waiters.remove(waiter)) return false;
    if (line.waiters.size === 0) this.#lines.remove(line.link);
    return true;
  }

  /** Removes a waiter that is served, and ends the turn of its line. False when it is not in the line. */
  serve(line: Line<Waiter>, waiter: Link<Waiter>): boolean {
    if (!this.remove(line, waiter)) return false;
    this.#lines.toEnd(line.link);
    return true;
  }
}
