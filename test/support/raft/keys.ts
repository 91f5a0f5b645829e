// Keys of worlds for the exhaustive search: two worlds with the same key behave identically from then on. A key
// contains everything in a world except the fields in UNUSED, each with the reason why nothing depends on it.
//
// The parts of a world (replicas, messages, history) are immutable, so each is serialized once and has a number in the
// keys of all worlds that contain it.
import type { World } from './world.ts';

const UNUSED: ReadonlySet<string> = new Set([
  // Constant, and determined by the id of the replica.
  'config',
  // The jitter is 0 and no read waits, so random draws have no effect.
  'random',
  // Only affects the seed of the generator.
  'starts',
]);

export class Keys {
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();

  /** `left` is the search's own state of the path. */
  of({ replicas, network, due = [], history }: World, left: object): string {
    const parts = Array.from(replicas.values(), (each) => this.numberOf(each));
    const sent = network.map((each) => this.numberOf(each)).toSorted((one, other) => one - other);
    const rest = due.map((each) => this.numberOf(each));
    return [parts, sent, rest, this.numberOf(history), this.numberOf(left)].join('|');
  }

  /** Equal parts have the same number. */
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
  // The division of a log into runs only affects the duration of an append.
  return name === 'runs' && Array.isArray(value) ? value.flat() : value;
}
