/**
 * Limits the number of values of open labels (O1): the values seen first keep their name. Beyond the bound, counts go
 * to `other`, and levels are omitted because their sum means nothing.
 */
import { labelsOf, type MetricName } from './metric-names.ts';

/** Label value for everything beyond the bound. */
const OTHER = 'other';

type Labels = Readonly<Record<string, string>>;

export class LabelLimiter {
  readonly #seen = new Map<string, Set<string>>();

  /** Returns the labels to count under. A label or closed value that is not in the catalogue is a bug and throws. */
  within(name: MetricName, labels: Labels): Record<string, string> {
    const beyond = this.#beyond(name, labels);
    return { ...labels, ...Object.fromEntries(beyond.map((label) => [label, OTHER])) };
  }

  /** Returns whether every value is within its bound. Throws like `within`. */
  admits(name: MetricName, labels: Labels): boolean {
    return this.#beyond(name, labels).length === 0;
  }

  /** Frees the slot of a value in every metric. */
  forget(label: string, value: string): void {
    for (const [key, seen] of this.#seen) if (key.endsWith(` ${label}`)) seen.delete(value);
  }

  /** Labels whose value is beyond the bound. */
  #beyond(name: MetricName, labels: Labels): readonly string[] {
    const bounds = labelsOf(name);
    return Object.entries(labels).flatMap(([label, value]) => {
      const bound = bounds[label];
      if (bound === undefined) throw new TypeError(`metric ${name} has no label ${label}`);
      if (typeof bound === 'number') return this.#hasPlace(`${name} ${label}`, value, bound) ? [] : [label];
      if (bound.includes(value)) return [];
      throw new TypeError(`label ${label} of ${name} has no value ${value}; it is one of ${bound.join(', ')}`);
    });
  }

  #hasPlace(key: string, value: string, atMost: number): boolean {
    const seen = this.#seen.get(key) ?? new Set();
    this.#seen.set(key, seen);
    if (seen.size < atMost) seen.add(value);
    return seen.has(value);
  }
}
