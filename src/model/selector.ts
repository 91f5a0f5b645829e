/**
 * Which events: the selector tree.
 *
 * A selector is built by the functions below, which keep it in canonical form: And and Or are flattened, sorted and
 * free of repetitions, have at least two parts, and `all` never stands inside them. Two spellings of one selector, flat
 * or nested, in whatever order, therefore give deeply equal trees and equal bytes. (M6)
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

/** Equality, or (kinds ending in -prefix) a common beginning of the UTF-8 bytes. */
export interface TermSelector {
  readonly kind: TermKind;
  readonly value: string;
}

export interface CompoundSelector {
  readonly kind: 'and' | 'or';
  /** At least two, in canonical order. */
  readonly selectors: readonly Selector[];
}

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

export const ALL: AllSelector = Object.freeze({ kind: 'all' });
export const NO_SUBJECT: NoSubjectSelector = Object.freeze({ kind: 'no-subject' });

/**
 * The empty beginning of a stream or type begins all of them; that of a subject begins all there are, and may be none.
 */
export function term(kind: TermKind, value: string): Selector {
  const anyEvent = value === '' && (kind === 'by-stream-prefix' || kind === 'by-type-prefix');
  return anyEvent ? ALL : { kind, value };
}

/** All of them must match; none at all is every event. */
export function and(selectors: readonly Selector[]): Selector {
  const parts = canonicalParts('and', selectors).filter((part) => part.kind !== 'all');
  return compound('and', parts);
}

/**
 * One of them must match. At least one is needed: an Or of nothing would be a selector of nothing, which has no form.
 */
export function or(selectors: readonly Selector[]): Selector {
  assert(selectors.length > 0, 'An Or has at least one selector');
  const parts = canonicalParts('or', selectors);
  return parts.some((part) => part.kind === 'all') ? ALL : compound('or', parts);
}

function compound(kind: 'and' | 'or', parts: readonly Selector[]): Selector {
  const [first, second] = parts;
  if (first === undefined) return ALL;
  return second === undefined ? first : { kind, selectors: parts };
}

function canonicalParts(kind: 'and' | 'or', selectors: readonly Selector[]): readonly Selector[] {
  const [only] = selectors;
  if (only !== undefined && selectors.length === 1 && only.kind !== kind) return selectors;
  const flat = selectors.flatMap((part) => (part.kind === kind ? part.selectors : [part]));
  const sorted = flat.toSorted(compareSelectors);
  return sorted.filter((part, index) => index === 0 || compareSelectors(part, sorted[index - 1] ?? part) !== 0);
}

/** Canonical order: by kind, then value, then parts. Zero only for equal selectors. */
function compareSelectors(left: Selector, right: Selector): number {
  const rank = rankOf(left) - rankOf(right);
  if (rank !== 0) return rank;
  if (isTerm(left) && isTerm(right)) return compareTexts(left.value, right.value);
  if (isCompound(left) && isCompound(right)) return compareParts(left.selectors, right.selectors);
  return 0;
}

function compareParts(left: readonly Selector[], right: readonly Selector[]): number {
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

const RANKS: ReadonlyMap<Selector['kind'], number> = new Map(
  [...TERM_KINDS, 'no-subject' as const, 'and' as const, 'or' as const, 'all' as const].map((kind, rank) => [
    kind,
    rank,
  ]),
);

function rankOf(selector: Selector): number {
  return RANKS.get(selector.kind) ?? 0;
}

export function isCompound(selector: Selector): selector is CompoundSelector {
  return selector.kind === 'and' || selector.kind === 'or';
}

export function isTerm(selector: Selector): selector is TermSelector {
  return selector.kind.startsWith('by-');
}
