// Worlds as text: the same for two worlds that nothing can tell apart from here on. Everything that a world holds is in
// it but for the fields of UNUSED, each of which says why nothing depends on it.
//
// The parts of a world, its replicas, messages and history, are immutable, so each is written once and is a number in
// the keys of all worlds that have it.
import type { World } from './world.ts';

const UNUSED: ReadonlySet<string> = new Set([
  // Never changes, and belongs to the replica with this id.
  'config',
  // The jitter is 0 and no read waits, so that no draw shows.
  'random',
  // Goes into the seed of the generator only.
  'starts',
]);

export class Keys {
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();

  /** `left` is what the search itself keeps beside the world. */
  of({ replicas, network, due = [], history }: World, left: object): string {
    const parts = Array.from(replicas.values(), (each) => this.numberOf(each));
    const sent = network.map((each) => this.numberOf(each)).toSorted((one, other) => one - other);
    const rest = due.map((each) => this.numberOf(each));
    return [parts, sent, rest, this.numberOf(history), this.numberOf(left)].join('|');
  }

  /** The same for equal parts. */
  numberOf(part: object): number {
    const known = this.#known.get(part);
    if (known !== undefined) return known;
    const text = JSON.stringify(part, written);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#known.set(part, number);
    return number;
  }
}

function written(name: string, value: unknown): unknown {
  if (UNUSED.has(name)) return undefined;
  if (value instanceof Map)
    return Array.from(value).toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  // How a log is cut into runs changes nothing but the time that an append takes.
  return name === 'runs' && Array.isArray(value) ? value.flat() : value;
}
