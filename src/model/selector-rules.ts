/**
 * Rules for selectors of clients: valid texts and size limits. The wire reader and the JSON reader share them, so that
 * they refuse alike.
 */
import { encodeUtf8 } from '#base';
import type { Faults } from './faults.ts';
import {
  MESSAGE_FIELDS_MAX,
  NAME_BYTES_MAX,
  SELECTOR_CONJUNCTIONS_MAX,
  SELECTOR_DEPTH_MAX,
  SELECTOR_NODES_MAX,
  URI_BYTES_MAX,
} from './limits.ts';
import {
  isCompound,
  type ParameterSelector,
  parameter,
  type Selector,
  type SelectorTemplate,
  type TermKind,
  term,
} from './selector.ts';
import { describeTextFault, nameFault, textFault } from './text-rules.ts';

/** A letter or underscore, then letters, digits, `_` and `-`; used as in `{attribute}.{parameter}`. */
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const DEPTH_RULE = `must nest at most ${SELECTOR_DEPTH_MAX} deep`;
const NODES_RULE = `must consist of at most ${SELECTOR_NODES_MAX} selectors`;
const FIELDS_RULE = `must have at most ${MESSAGE_FIELDS_MAX} fields`;
const CONJUNCTIONS_RULE = `must come to at most ${SELECTOR_CONJUNCTIONS_MAX} alternatives when And is spread over Or`;

/** State of reading one selector, from its root. */
export class SelectorReading {
  readonly faults: Faults;
  /** True for a State View, in which terms may be open. */
  readonly #isTemplate: boolean;
  readonly #root: string;
  #nodeCount = 0;
  #fieldCount = 0;
  #tooBig = false;

  constructor(root: string, faults: Faults, { isTemplate }: { readonly isTemplate: boolean } = { isTemplate: false }) {
    this.#root = root;
    this.faults = faults;
    this.#isTemplate = isTemplate;
  }

  /** Counts one selector at that depth (1 is the root). Returns false beyond a limit, with one fault. */
  enter(depth: number): boolean {
    this.#nodeCount++;
    if (this.#tooBig) return false;
    if (depth > SELECTOR_DEPTH_MAX) this.#refuse(DEPTH_RULE, depth);
    else if (this.#nodeCount > SELECTOR_NODES_MAX) this.#refuse(NODES_RULE, this.#nodeCount);
    return !this.#tooBig;
  }

  /**
   * Counts one field of a message: repeated fields of two bytes are cheap to send. Returns false beyond the limit, with
   * one fault.
   */
  takesField(): boolean {
    this.#fieldCount++;
    if (this.#fieldCount === MESSAGE_FIELDS_MAX + 1) this.#refuse(FIELDS_RULE, this.#fieldCount);
    return this.#fieldCount <= MESSAGE_FIELDS_MAX;
  }

  /** A selector of one attribute, or undefined with the fault added. */
  term(kind: TermKind, value: string, field: string): Selector | undefined {
    const rule = termFault(kind, value);
    return rule === undefined ? term(kind, value) : this.faults.add(field, rule, value);
  }

  /** An open term, or undefined with the fault added. */
  parameter(kind: TermKind, name: string, field: string): ParameterSelector | undefined {
    if (!this.#isTemplate)
      return this.faults.add(field, 'must be a value: only what a State View selects has parameters');
    if (kind === 'by-source') return this.faults.add(field, 'must be a value: a source cannot be a parameter');
    if (PARAMETER_NAME.test(name)) return parameter(kind, name);
    return this.faults.add(field, 'must be a letter or "_", then up to 63 letters, digits, "_" or "-"', name);
  }

  /** The finished selector, unless its disjunctive form is too large. Without parameters: no template was read. */
  finish(selector: SelectorTemplate | undefined): Selector | undefined {
    const finished = this.finishTemplate(selector);
    return finished !== undefined && isBound(finished) ? finished : undefined;
  }

  finishTemplate(selector: SelectorTemplate | undefined): SelectorTemplate | undefined {
    const count = selector === undefined ? 0 : conjunctionCount(selector);
    if (count <= SELECTOR_CONJUNCTIONS_MAX) return selector;
    return this.#refuse(CONJUNCTIONS_RULE, SELECTOR_CONJUNCTIONS_MAX + 1);
  }

  /** Adds the fault; counting stops at the limit. */
  #refuse(rule: string, found: number): undefined {
    this.#tooBig = true;
    return this.faults.add(this.#root, rule, { said: `${found} or more` });
  }
}

/** Returns true when no term is open. */
export function isBound(template: SelectorTemplate): template is Selector {
  return isCompound(template) ? template.selectors.every(isBound) : template.kind !== 'parameter';
}

export function termFault(kind: TermKind, value: string): string | undefined {
  if (!value.isWellFormed()) return describeTextFault('ill-formed', NAME_BYTES_MAX);
  const bytes = encodeUtf8(value);
  const bytesMax = kind === 'by-source' ? URI_BYTES_MAX : NAME_BYTES_MAX;
  if (bytes.length > bytesMax) return describeTextFault('too-long', bytesMax);
  if (bytes.length === 0 && kind === 'by-source') return describeTextFault('empty', bytesMax);
  const isWhole = kind === 'by-stream' || kind === 'by-type' || kind === 'by-subject';
  const fault = isWhole ? nameFault(bytes, 0, bytes.length) : textFault(bytes, 0, bytes.length);
  return fault === undefined ? undefined : describeTextFault(fault, bytesMax);
}

/** Why a finished template is too large, or undefined: the limits of its readers. */
export function sizeFault(template: SelectorTemplate): { readonly rule: string; readonly found: number } | undefined {
  const { nodes, depth } = sizeOf(template);
  if (depth > SELECTOR_DEPTH_MAX) return { rule: DEPTH_RULE, found: depth };
  if (nodes > SELECTOR_NODES_MAX) return { rule: NODES_RULE, found: nodes };
  const conjunctions = conjunctionCount(template);
  return conjunctions > SELECTOR_CONJUNCTIONS_MAX ? { rule: CONJUNCTIONS_RULE, found: conjunctions } : undefined;
}

function sizeOf(template: SelectorTemplate): { readonly nodes: number; readonly depth: number } {
  if (!isCompound(template)) return { nodes: 1, depth: 1 };
  const sizes = template.selectors.map(sizeOf);
  const nodes = sizes.reduce((sum, size) => sum + size.nodes, 1);
  return { nodes, depth: 1 + sizes.reduce((most, size) => Math.max(most, size.depth), 0) };
}

/** Number of conjunctions of the disjunctive form before simplification; stops counting beyond the limit. */
export function conjunctionCount(selector: SelectorTemplate): number {
  if (!isCompound(selector)) return 1;
  const counts = selector.selectors.map(conjunctionCount);
  if (selector.kind === 'or') return counts.reduce((sum, count) => sum + count, 0);
  return counts.reduce((product, count) => Math.min(product * count, SELECTOR_CONJUNCTIONS_MAX + 1), 1);
}
