/**
 * The newest events of a database, looked at backwards until each of some alternatives has been seen: the L of a
 * selector that many events match is near the end.
 */
import { assert, decodeUtf8, encodeUtf8, NO_BYTES } from '#base';
import { type Conjunction, streamOfSource, type TextMatch } from '#model';
import { copyRange, equalsRange } from './bytes-range.ts';
import { EventSkim } from './event-skim.ts';
import type { DatabaseReader } from './reader.ts';

/** How far to look: not at a transaction that goes beyond `bytes`, and at the first events of one beyond `comparisons`. */
export interface LookBackLimits {
  /** Events times alternatives. */
  readonly comparisons: number;
  /** Of transactions as they are logged. */
  readonly bytes: number;
}

export class RecentEvents {
  readonly #reader: DatabaseReader;
  readonly #alternatives: readonly Pattern[];
  /** By place of the alternative; 0: not seen. */
  readonly #found: number[];
  #openCount: number;
  #lookedDownTo: number;
  /** The source of the event looked at last, and its stream: neighbours mostly share them. */
  #source: Uint8Array = NO_BYTES;
  #stream: Uint8Array = NO_BYTES;

  /** `revision` is the database's, all of it in the store. */
  constructor(reader: DatabaseReader, alternatives: readonly Conjunction[], revision: number) {
    this.#reader = reader;
    this.#alternatives = alternatives.map(patternOf);
    this.#found = alternatives.map(() => 0);
    this.#openCount = alternatives.length;
    this.#lookedDownTo = revision;
  }

  /** Every event above this revision has been looked at. */
  get lookedDownTo(): number {
    return this.#lookedDownTo;
  }

  /** L of the alternative at this place; 0 when no event looked at so far matches it. */
  found(place: number): number {
    return this.#found[place] ?? 0;
  }

  /** Goes on from where it ended, until every alternative has been seen or a limit is reached. */
  lookBack(limits: LookBackLimits): void {
    let { comparisons, bytes } = limits;
    for (; this.#lookedDownTo > 0 && this.#openCount > 0; this.#lookedDownTo--) {
      const revision = this.#lookedDownTo;
      const { start, end, eventCount } = this.#reader.pageOf(revision).record(revision);
      const affordable = Math.min(eventCount, Math.floor(comparisons / this.#alternatives.length));
      comparisons -= eventCount * this.#alternatives.length;
      bytes -= end - start;
      if (affordable === 0 || bytes < 0) return;
      this.#lookAt(revision, affordable);
      // What matches one event of it has its L; what matches none may match another.
      if (affordable < eventCount) return;
    }
  }

  #lookAt(revision: number, eventCount: number): void {
    const { bytes, view } = this.#reader.transaction(revision);
    const { eventStarts, eventEnds } = view.body;
    const skim = new EventSkim(bytes);
    for (let index = 0; index < eventCount; index++) {
      const start = eventStarts[index] ?? 0;
      assert(skim.read(start, eventEnds[index] ?? 0), 'A stored event is in canonical form', start);
      this.#lookAtEvent(bytes, skim, revision);
    }
  }

  #lookAtEvent(bytes: Uint8Array, skim: EventSkim, revision: number): void {
    for (const [place, pattern] of this.#alternatives.entries()) {
      if (this.#found[place] !== 0 || !this.#matches(pattern, bytes, skim)) continue;
      this.#found[place] = revision;
      this.#openCount--;
    }
  }

  #matches({ type, source, stream, subject }: Pattern, bytes: Uint8Array, skim: EventSkim): boolean {
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

interface TextPattern {
  readonly isPrefix: boolean;
  readonly term: Uint8Array;
}

/** A conjunction in bytes. A source implies its stream. */
interface Pattern {
  readonly type: TextPattern | undefined;
  readonly source: TextPattern | undefined;
  readonly stream: TextPattern | undefined;
  readonly subject: TextPattern | 'none' | undefined;
}

function patternOf({ type, source, stream, subject }: Conjunction): Pattern {
  return {
    type: textPatternOf(type),
    source: source === undefined ? undefined : textPatternOf({ kind: 'equals', value: source }),
    stream: textPatternOf(stream),
    subject: subject?.kind === 'none' ? 'none' : textPatternOf(subject),
  };
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
