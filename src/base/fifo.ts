/** A queue with append and removal at the front, both in constant time. */

export class Fifo<Item> {
  #items: Item[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  peek(): Item | undefined {
    return this.#items[this.#head];
  }

  /** The item at this position, 0 for the first. */
  at(place: number): Item | undefined {
    return place < 0 ? undefined : this.#items[this.#head + place];
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (this.length === 0) return undefined;
    this.#head += 1;
    // Each item is moved at most once per removed item, so this is constant on average.
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Removes and returns everything, in order. */
  drain(): readonly Item[] {
    const items = this.#items.slice(this.#head);
    this.#items = [];
    this.#head = 0;
    return items;
  }
}
