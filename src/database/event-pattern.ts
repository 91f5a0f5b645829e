/** Conjunctions in bytes, and whether a stored event matches one. */
import { assert, decodeUtf8, encodeUtf8, NO_BYTES } from '#base';
import { type Conjunction, streamOfSource, type TextMatch } from '#model';
import { copyRange, equalsRange } from './bytes-range.ts';
import type { EventSkim } from './event-skim.ts';

interface TextPattern {
  readonly isPrefix: boolean;
  readonly term: Uint8Array;
}

/** A conjunction in bytes. A source implies its stream. */
export interface EventPattern {
  readonly type: TextPattern | undefined;
  readonly source: TextPattern | undefined;
  readonly stream: TextPattern | undefined;
  readonly subject: TextPattern | 'none' | undefined;
}

export function patternOf({ type, source, stream, subject }: Conjunction): EventPattern {
  return {
    type: textPatternOf(type),
    source: source === undefined ? undefined : textPatternOf({ kind: 'equals', value: source }),
    stream: textPatternOf(stream),
    subject: subject?.kind === 'none' ? 'none' : textPatternOf(subject),
  };
}

/** Says of one event after another whether patterns match it. */
export class EventMatcher {
  /** The source of the event looked at last, and its stream: neighbours mostly share them. */
  #source: Uint8Array = NO_BYTES;
  #stream: Uint8Array = NO_BYTES;

  /** Returns whether the event in `bytes`, which `skim` has read, matches. */
  matches({ type, source, stream, subject }: EventPattern, bytes: Uint8Array, skim: EventSkim): boolean {
    if (type !== undefined && !covers(type, bytes, skim.typeStart, skim.typeEnd)) return false;
    if (subject !== undefined && !coversSubject(subject, bytes, skim)) return false;
    if (source !== undefined) return covers(source, bytes, skim.sourceStart, skim.sourceEnd);
    if (stream === undefined) return true;
    const term = this.#streamOf(bytes, skim);
    return covers(stream, term, 0, term.length);
  }

  #streamOf(bytes: Uint8Array, { sourceStart, sourceEnd }: EventSkim): Uint8Array {
    if (equalsRange(this.#source, bytes, sourceStart, sourceEnd)) return this.#stream;
    const stream = streamOfSource(decodeUtf8(bytes, sourceStart, sourceEnd) ?? '');
    assert(stream !== undefined, 'The source of a stored event names a stream', sourceStart);
    this.#source = copyRange(bytes, sourceStart, sourceEnd);
    this.#stream = encodeUtf8(stream);
    return this.#stream;
  }
}

function textPatternOf(match: TextMatch | undefined): TextPattern | undefined {
  return match === undefined ? undefined : { isPrefix: match.kind === 'prefix', term: encodeUtf8(match.value) };
}

/** Whether the pattern allows the text `[from, to)`. */
function covers({ isPrefix, term }: TextPattern, bytes: Uint8Array, from: number, to: number): boolean {
  if (!isPrefix) return equalsRange(term, bytes, from, to);
  const end = from + term.length;
  return end <= to && equalsRange(term, bytes, from, end);
}

function coversSubject(pattern: TextPattern | 'none', bytes: Uint8Array, skim: EventSkim): boolean {
  const hasSubject = skim.subjectStart >= 0;
  if (pattern === 'none') return !hasSubject;
  return hasSubject && covers(pattern, bytes, skim.subjectStart, skim.subjectEnd);
}
