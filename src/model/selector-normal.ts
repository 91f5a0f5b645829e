/**
 * The disjunctive form of a selector: alternatives, each of which has at most one condition per attribute. Indexes
 * answer this form, and it matches the same events as the selector (M6).
 *
 * Contradictory and redundant alternatives are removed. A source always comes with its stream, since sources are found
 * through their stream.
 */
import { streamOfSource } from './names.ts';
import { and, isCompound, isTerm, NO_SUBJECT, type Selector, TERMS, type TermSelector, term } from './selector.ts';

/** All present conditions must hold; without any it selects every event. */
export interface Conjunction {
  readonly stream?: TextMatch;
  readonly type?: TextMatch;
  readonly subject?: SubjectMatch;
  /** Exact source. `stream` is then an equality with the stream of this source. */
  readonly source?: string;
}

/** A prefix of the UTF-8 bytes. */
export interface TextMatch {
  readonly kind: 'equals' | 'prefix';
  readonly value: string;
}

/** `none`: the event has no subject. An empty prefix: it has one. */
export type SubjectMatch = TextMatch | { readonly kind: 'none' };

/** Empty when nothing can match. */
export function normalise(selector: Selector): readonly Conjunction[] {
  const candidates = alternativesOf(selector);
  if (candidates.length < 2) return candidates;
  const alternatives: Conjunction[] = [];
  for (const candidate of candidates) {
    if (alternatives.some((kept) => covers(kept, candidate))) continue;
    const remaining = alternatives.filter((kept) => !covers(candidate, kept));
    alternatives.splice(0, alternatives.length, ...remaining, candidate);
  }
  return alternatives;
}

function alternativesOf(selector: Selector): readonly Conjunction[] {
  if (isTerm(selector)) return conjunctionOfTerm(selector);
  if (!isCompound(selector)) return selector.kind === 'all' ? [{}] : [{ subject: { kind: 'none' } }];
  const parts = selector.selectors.map(alternativesOf);
  if (selector.kind === 'or') return parts.flat();
  return parts.reduce((left, right) => left.flatMap((one) => right.flatMap((other) => both(one, other))), [{}]);
}

function conjunctionOfTerm({ kind, value }: TermSelector): readonly Conjunction[] {
  const { attribute, match } = TERMS[kind];
  if (attribute !== 'source') {
    const only: Pick<Conjunction, typeof attribute> = { [attribute]: { kind: match, value } };
    return [only];
  }
  const stream = streamOfSource(value);
  return stream === undefined ? [] : [{ source: value, stream: { kind: match, value: stream } }];
}

/** The conjunction as a selector. */
export function selectorOf({ stream, type, subject, source }: Conjunction): Selector {
  return and([
    ...(source === undefined ? termsOf('stream', stream) : [term('by-source', source)]),
    ...termsOf('type', type),
    ...(subject?.kind === 'none' ? [NO_SUBJECT] : termsOf('subject', subject)),
  ]);
}

function termsOf(attribute: 'stream' | 'type' | 'subject', match: TextMatch | undefined): readonly Selector[] {
  if (match === undefined) return [];
  return [term(match.kind === 'equals' ? `by-${attribute}` : `by-${attribute}-prefix`, match.value)];
}

type Contradiction = 'contradiction';

/** Combines both into one conjunction, or none when they contradict each other. */
function both(left: Conjunction, right: Conjunction): readonly Conjunction[] {
  if (left.source !== undefined && right.source !== undefined && left.source !== right.source) return [];
  const source = left.source ?? right.source;
  const stream = bothTexts(left.stream, right.stream);
  const type = bothTexts(left.type, right.type);
  const subject = bothSubjects(left.subject, right.subject);
  if (stream === 'contradiction' || type === 'contradiction' || subject === 'contradiction') return [];
  return [
    {
      ...(stream === undefined ? {} : { stream }),
      ...(type === undefined ? {} : { type }),
      ...(subject === undefined ? {} : { subject }),
      ...(source === undefined ? {} : { source }),
    },
  ];
}

/** The narrower of two nested conditions. */
function bothTexts(left?: TextMatch, right?: TextMatch): TextMatch | undefined | Contradiction {
  if (left === undefined || right === undefined) return left ?? right;
  if (isInside(left, right)) return left;
  return isInside(right, left) ? right : 'contradiction';
}

function bothSubjects(left?: SubjectMatch, right?: SubjectMatch): SubjectMatch | undefined | Contradiction {
  if (left === undefined || right === undefined) return left ?? right;
  if (left.kind === 'none' || right.kind === 'none') return left.kind === right.kind ? left : 'contradiction';
  return bothTexts(left, right);
}

/** Returns true when `outer` matches every text that `inner` matches. */
function isInside(inner: TextMatch, outer: TextMatch): boolean {
  return outer.kind === 'prefix'
    ? inner.value.startsWith(outer.value)
    : inner.kind === 'equals' && inner.value === outer.value;
}

/** Returns true when every event of `narrow` is one of `wide`. */
function covers(wide: Conjunction, narrow: Conjunction): boolean {
  if (wide.source !== undefined && wide.source !== narrow.source) return false;
  return (
    coversText(wide.stream, narrow.stream) &&
    coversText(wide.type, narrow.type) &&
    coversSubject(wide.subject, narrow.subject)
  );
}

function coversText(wide?: TextMatch, narrow?: TextMatch): boolean {
  return wide === undefined || (narrow !== undefined && isInside(narrow, wide));
}

function coversSubject(wide?: SubjectMatch, narrow?: SubjectMatch): boolean {
  if (wide === undefined) return true;
  if (narrow === undefined) return false;
  if (wide.kind === 'none' || narrow.kind === 'none') return wide.kind === narrow.kind;
  return isInside(narrow, wide);
}
