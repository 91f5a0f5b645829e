/** Keeps open labels within their bound (O1): the values seen first keep their name, later ones become `other`. */
import { definitionOf, type LabelBound } from './metric-catalogue.ts';
import type { MetricName } from './metric-names.ts';

/** What every value beyond a label's bound is counted as. */
const OTHER = 'other';

export class LabelLimiter {
  readonly #seen = new Map<string, Set<string>>();

  /** The labels to count under. A label or closed value that the catalogue does not list is a bug and throws. */
  within(name: MetricName, labels: Readonly<Record<string, string>>): Record<string, string> {
    const bounds: Readonly<Record<string, LabelBound>> = definitionOf(name).labels;
    const bounded: Record<string, string> = {};
    for (const [label, value] of Object.entries(labels)) {
      const bound = bounds[label];
      if (bound === undefined) throw new TypeError(`metric ${name} has no label ${label}`);
      bounded[label] = typeof bound === 'number' ? this.#admit(`${name} ${label}`, value, bound) : value;
      if (typeof bound !== 'number' && !bound.includes(value)) {
        throw new TypeError(`label ${label} of ${name} has no value ${value}; it is one of ${bound.join(', ')}`);
      }
    }
    return bounded;
  }

  #admit(key: string, value: string, atMost: number): string {
    let seen = this.#seen.get(key);
    if (seen === undefined) {
      seen = new Set();
      this.#seen.set(key, seen);
    }
    if (seen.has(value)) return value;
    if (seen.size >= atMost) return OTHER;
    seen.add(value);
    return value;
  }
}
