/**
 * Who waits, in lines that are served in turn: one of the first line, one of the second, and so on, and within a line
 * first come first served. However many wait in one line, the others are served as often as it is.
 */
import { Link, LinkedList } from '#base';

export class Line<Waiter> {
  readonly waiters: LinkedList<Waiter> = new LinkedList<Waiter>();
  /** For the turns alone. */
  readonly link: Link<Line<Waiter>> = new Link<Line<Waiter>>(this);
}

/** The line of each connection, for as long as there is one. */
export class Lines<Waiter> {
  readonly #lines = new WeakMap<object, Line<Waiter>>();

  of(connection: object): Line<Waiter> {
    const known = this.#lines.get(connection);
    if (known !== undefined) return known;
    const line = new Line<Waiter>();
    this.#lines.set(connection, line);
    return line;
  }
}

export class TurnsByLine<Waiter> {
  /** Those in which somebody waits; whose turn it is comes first. */
  readonly #lines = new LinkedList<Line<Waiter>>();

  /** Whose turn it is. A line whose first is not accepted lets the others go before. */
  first(accepts: (waiter: Waiter) => boolean = () => true): Waiter | undefined {
    return this.#lines.find(({ waiters: { first } }) => first !== undefined && accepts(first))?.waiters.first;
  }

  /** The first of each line, whose turn it is first. */
  *firsts(): Generator<Waiter, void> {
    for (const { waiters } of this.#lines.values()) if (waiters.first !== undefined) yield waiters.first;
  }

  add(line: Line<Waiter>, waiter: Link<Waiter>): void {
    line.waiters.append(waiter);
    if (line.waiters.size === 1) this.#lines.append(line.link);
  }

  /** Takes out one that waits no more. False when it is not in the line. */
  remove(line: Line<Waiter>, waiter: Link<Waiter>): boolean {
    if (!line.waiters.remove(waiter)) return false;
    if (line.waiters.size === 0) this.#lines.remove(line.link);
    return true;
  }

  /** Takes out one that is served: its line has had its turn. False when it is not in the line. */
  serve(line: Line<Waiter>, waiter: Link<Waiter>): boolean {
    if (!this.remove(line, waiter)) return false;
    this.#lines.toEnd(line.link);
    return true;
  }
}
