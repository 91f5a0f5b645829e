/**
 * Selectors of events, as trees.
 *
 * The functions below build selectors in canonical form: And and Or are flattened, sorted, without duplicates, and have
 * at least two parts, none of which is `all`. So every spelling of a selector, flat or nested, in any order, gives
 * deeply equal trees and equal bytes. (M6)
 *
 * The selector of a State View is a template: terms may be open, each with the name of the parameter that a read binds
 * (selector-template.ts). The same functions build it, by the same rules.
 */
import { assert, compareBytes, encodeUtf8 } from '#base';

export type Selector = TermSelector | AllSelector | NoSubjectSelector | CompoundSelector;

/** Every event. */
export interface AllSelector {
  readonly kind: 'all';
}

export interface NoSubjectSelector {
  readonly kind: 'no-subject';
}

/** Equality, or (kinds ending in -prefix) a common prefix of the UTF-8 bytes. */
export interface TermSelector {
  readonly kind: TermKind;
  readonly value: string;
}

export interface CompoundSelector {
  readonly kind: 'and' | 'or';
  /** At least two, in canonical order. */
  readonly selectors: readonly Selector[];
}

/** A selector that may have parameters in place of values. Every selector is a template. */
export type SelectorTemplate = Exclude<Selector, CompoundSelector> | ParameterSelector | CompoundTemplate;

/** A term whose value a read binds. */
export interface ParameterSelector {
  readonly kind: 'parameter';
  readonly term: ParameterTerm;
  /** Name without the attribute, such as `account_id`. */
  readonly name: string;
}

export interface CompoundTemplate {
  readonly kind: 'and' | 'or';
  /** At least two, in canonical order. */
  readonly selectors: readonly SelectorTemplate[];
}

/** Kinds of open terms: a stream, an event type or a subject, or a prefix of one. */
export type ParameterTerm = Exclude<TermKind, 'by-source'>;

export type TermAttribute = 'stream' | 'type' | 'subject' | 'source';

/** In canonical order. */
export const TERM_KINDS = [
  'by-stream',
  'by-stream-prefix',
  'by-type',
  'by-type-prefix',
  'by-subject',
  'by-subject-prefix',
  'by-source',
] as const;

export type TermKind = (typeof TERM_KINDS)[number];

/** The attribute that a term is about, and how it matches. */
export const TERMS: Readonly<
  Record<TermKind, { readonly attribute: TermAttribute; readonly match: 'equals' | 'prefix' }>
> = {
  'by-stream': { attribute: 'stream', match: 'equals' },
  'by-stream-prefix': { attribute: 'stream', match: 'prefix' },
  'by-type': { attribute: 'type', match: 'equals' },
  'by-type-prefix': { attribute: 'type', match: 'prefix' },
  'by-subject': { attribute: 'subject', match: 'equals' },
  'by-subject-prefix': { attribute: 'subject', match: 'prefix' },
  'by-source': { attribute: 'source', match: 'equals' },
};

export const ALL: AllSelector = Object.freeze({ kind: 'all' });
export const NO_SUBJECT: NoSubjectSelector = Object.freeze({ kind: 'no-subject' });

/** An empty prefix of a stream or type matches every event; that of a subject only events that have one. */
export function term(kind: TermKind, value: string): Selector {
  const anyEvent = value === '' && (kind === 'by-stream-prefix' || kind === 'by-type-prefix');
  return anyEvent ? ALL : { kind, value };
}

/** An open term. */
export function parameter(kind: ParameterTerm, name: string): ParameterSelector {
  return { kind: 'parameter', term: kind, name };
}

/** All parts must match; an empty And selects every event. */
export function and(selectors: readonly Selector[]): Selector;
export function and(selectors: readonly SelectorTemplate[]): SelectorTemplate;
export function and(selectors: readonly SelectorTemplate[]): SelectorTemplate {
  const parts = canonicalParts('and', selectors).filter((part) => part.kind !== 'all');
  return compound('and', parts);
}

/** One part must match. It needs at least one: an empty Or would select nothing, which selectors cannot express. */
export function or(selectors: readonly Selector[]): Selector;
export function or(selectors: readonly SelectorTemplate[]): SelectorTemplate;
export function or(selectors: readonly SelectorTemplate[]): SelectorTemplate {
  assert(selectors.length > 0, 'An Or has at least one selector');
  const parts = canonicalParts('or', selectors);
  return parts.some((part) => part.kind === 'all') ? ALL : compound('or', parts);
}

function compound(kind: 'and' | 'or', parts: readonly SelectorTemplate[]): SelectorTemplate {
  const [first, second] = parts;
  if (first === undefined) return ALL;
  return second === undefined ? first : { kind, selectors: parts };
}

function canonicalParts(kind: 'and' | 'or', selectors: readonly SelectorTemplate[]): readonly SelectorTemplate[] {
  const [only] = selectors;
  if (only !== undefined && selectors.length === 1 && only.kind !== kind) return selectors;
  const flat = selectors.flatMap((part) => (part.kind === kind ? part.selectors : [part]));
  const sorted = flat.toSorted(compareSelectors);
  return sorted.filter((part, index) => index === 0 || compareSelectors(part, sorted[index - 1] ?? part) !== 0);
}

/** Canonical order: by kind, then value, then parts. 0 only for equal selectors. */
function compareSelectors(left: SelectorTemplate, right: SelectorTemplate): number {
  const rank = rankOf(left) - rankOf(right);
  if (rank !== 0) return rank;
  if (isTerm(left) && isTerm(right)) return compareTexts(left.value, right.value);
  if (isCompound(left) && isCompound(right)) return compareParts(left.selectors, right.selectors);
  if (left.kind === 'parameter' && right.kind === 'parameter') return compareParameters(left, right);
  return 0;
}

function compareParameters(left: ParameterSelector, right: ParameterSelector): number {
  const rank = TERM_KINDS.indexOf(left.term) - TERM_KINDS.indexOf(right.term);
  return rank === 0 ? compareTexts(left.name, right.name) : rank;
}

function compareParts(left: readonly SelectorTemplate[], right: readonly SelectorTemplate[]): number {
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareSelectors(part, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareTexts(left: string, right: string): number {
  return left === right ? 0 : compareBytes(encodeUtf8(left), encodeUtf8(right));
}

const RANKS: ReadonlyMap<SelectorTemplate['kind'], number> = new Map(
  ([...TERM_KINDS, 'no-subject', 'parameter', 'and', 'or', 'all'] as const).map((kind, rank) => [kind, rank]),
);

function rankOf(selector: SelectorTemplate): number {
  return RANKS.get(selector.kind) ?? 0;
}

export function isCompound(selector: Selector): selector is CompoundSelector;
export function isCompound(selector: SelectorTemplate): selector is CompoundTemplate;
export function isCompound(selector: SelectorTemplate): boolean {
  return selector.kind === 'and' || selector.kind === 'or';
}

export function isTerm(selector: SelectorTemplate): selector is TermSelector {
  return selector.kind.startsWith('by-');
}
