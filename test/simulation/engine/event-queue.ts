/** The queue of future events: a binary heap ordered by time, and for equal times by insertion. */

export interface Scheduled {
  readonly atUs: number;
  readonly order: number;
  readonly label: string;
  readonly run: () => void;
}

export class EventQueue {
  readonly #heap: Scheduled[] = [];
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  get nextUs(): number | undefined {
    return this.#heap[0]?.atUs;
  }

  push(atUs: number, label: string, run: () => void): void {
    this.#order += 1;
    const event = { atUs, order: this.#order, label, run };
    let place = this.#heap.length;
    this.#heap.push(event);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#heap[parent];
      if (above === undefined || !isBefore(event, above)) break;
      this.#heap[place] = above;
      place = parent;
    }
    this.#heap[place] = event;
  }

  pop(): Scheduled | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first !== undefined && last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(event: Scheduled): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !isBefore(child, event)) break;
      heap[place] = child;
      place = 2 * place + (isRight ? 2 : 1);
    }
    heap[place] = event;
  }
}

function isBefore(left: Scheduled, right: Scheduled): boolean {
  return left.atUs === right.atUs ? left.order < right.order : left.atUs < right.atUs;
}
