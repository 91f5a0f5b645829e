/**
 * A doubly linked list whose links belong to its values: insertion, removal and moving to the end in constant time.
 *
 * For queues of in-flight items, which a Map or Set would keep alive (see `Slots`). A removed link points to nothing;
 * otherwise an old link would keep all its successors alive.
 */
import { assert } from './assert.ts';

export class Link<Value> {
  readonly value: Value;
  /** These three are private to the list. */
  list: LinkedList<Value> | undefined = undefined;
  previous: Link<Value> | undefined = undefined;
  next: Link<Value> | undefined = undefined;

  constructor(value: Value) {
    this.value = value;
  }
}

export class LinkedList<Value> {
  #first: Link<Value> | undefined = undefined;
  #last: Link<Value> | undefined = undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Value | undefined {
    return this.#first?.value;
  }

  get last(): Value | undefined {
    return this.#last?.value;
  }

  has(link: Link<Value>): boolean {
    return link.list === this;
  }

  /** Appends a link that is in no list. */
  append(link: Link<Value>): void {
    assert(link.list === undefined, 'A link is in one list at a time');
    link.list = this;
    link.previous = this.#last;
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size += 1;
  }

  /** False when it is not in this list. */
  remove(link: Link<Value>): boolean {
    if (link.list !== this) return false;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    link.list = undefined;
    link.previous = undefined;
    link.next = undefined;
    this.#size -= 1;
    return true;
  }

  /** Moves a link of this list to its end; a link that is in no list stays out. */
  toEnd(link: Link<Value>): void {
    if (this.remove(link)) this.append(link);
  }

  /** Yields the values in order. The list must not change meanwhile. */
  *values(): Generator<Value, void> {
    for (let link = this.#first; link !== undefined; link = link.next) yield link.value;
  }

  /** The first accepted value. */
  find(accepts: (value: Value) => boolean): Value | undefined {
    let link = this.#first;
    while (link !== undefined && !accepts(link.value)) link = link.next;
    return link?.value;
  }
}
