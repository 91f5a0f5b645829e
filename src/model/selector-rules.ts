/**
 * What a selector that somebody sent may be: the rules of its texts, and the limits of its size. Both the wire and the
 * JSON reader build selectors through this, so that they refuse alike.
 */
import { encodeUtf8 } from '#base';
import type { Faults } from './faults.ts';
import {
  NAME_BYTES_MAX,
  SELECTOR_CONJUNCTIONS_MAX,
  SELECTOR_DEPTH_MAX,
  SELECTOR_NODES_MAX,
  URI_BYTES_MAX,
} from './limits.ts';
import { isCompound, type Selector, type TermKind, term } from './selector.ts';
import { describeTextFault, nameFault, textFault } from './text-rules.ts';

/** The reading of one selector, from its root. */
export class SelectorReading {
  readonly faults: Faults;
  readonly #root: string;
  #nodeCount = 0;
  #tooBig = false;

  constructor(root: string, faults: Faults) {
    this.#root = root;
    this.faults = faults;
  }

  /** Counts one selector at that depth (1 is the root). False when a limit is passed, which is a fault once. */
  enter(depth: number): boolean {
    this.#nodeCount++;
    if (this.#tooBig) return false;
    if (depth > SELECTOR_DEPTH_MAX) this.#refuse(`must nest at most ${SELECTOR_DEPTH_MAX} deep`, depth);
    else if (this.#nodeCount > SELECTOR_NODES_MAX)
      this.#refuse(`must consist of at most ${SELECTOR_NODES_MAX} selectors`, this.#nodeCount);
    return !this.#tooBig;
  }

  /** A selector of one attribute, or undefined with the fault added. */
  term(kind: TermKind, value: string, field: string): Selector | undefined {
    const rule = termFault(kind, value);
    return rule === undefined ? term(kind, value) : this.faults.add(field, rule, value);
  }

  /** The finished selector, unless its disjunctive form is too large. */
  finish(selector: Selector | undefined): Selector | undefined {
    const count = selector === undefined ? 0 : conjunctionCount(selector);
    if (count <= SELECTOR_CONJUNCTIONS_MAX) return selector;
    const rule = `must come to at most ${SELECTOR_CONJUNCTIONS_MAX} alternatives when And is spread over Or`;
    return this.#refuse(rule, SELECTOR_CONJUNCTIONS_MAX + 1);
  }

  /** Nothing is counted beyond its limit. */
  #refuse(rule: string, found: number): undefined {
    this.#tooBig = true;
    return this.faults.add(this.#root, rule, `${found} or more`);
  }
}

function termFault(kind: TermKind, value: string): string | undefined {
  if (!value.isWellFormed()) return describeTextFault('ill-formed', NAME_BYTES_MAX);
  const bytes = encodeUtf8(value);
  const bytesMax = kind === 'by-source' ? URI_BYTES_MAX : NAME_BYTES_MAX;
  if (bytes.length > bytesMax) return describeTextFault('too-long', bytesMax);
  if (bytes.length === 0 && kind === 'by-source') return describeTextFault('empty', bytesMax);
  const isWhole = kind === 'by-stream' || kind === 'by-type' || kind === 'by-subject';
  const fault = isWhole ? nameFault(bytes, 0, bytes.length) : textFault(bytes, 0, bytes.length);
  return fault === undefined ? undefined : describeTextFault(fault, bytesMax);
}

/** Conjunctions of the disjunctive form before anything is simplified; stops counting once it is too many. */
export function conjunctionCount(selector: Selector): number {
  if (!isCompound(selector)) return 1;
  const counts = selector.selectors.map(conjunctionCount);
  if (selector.kind === 'or') return counts.reduce((sum, count) => sum + count, 0);
  return counts.reduce((product, count) => Math.min(product * count, SELECTOR_CONJUNCTIONS_MAX + 1), 1);
}
