/**
 * Finds the names of the events up to a revision in the history itself: a listing at an early revision of a large
 * database then costs the history up to it, not the names that appeared later. (Q4)
 */
import { assert, compareBytes, decodeUtf8, hasBytesAt } from '#base';
import { type DatabaseReader, HEAD_KIND, type HeadKind } from '#database';
import { type EventFacts, eventFacts } from '#model';
import { pulled } from './event-chunks.ts';
import { HistoryScan } from './history-scan.ts';

/** A name that an event has. */
export interface FoundName {
  readonly term: Uint8Array;
  /** The revision of its first event. */
  readonly firstRevision: number;
}

export interface NamesInHistoryOptions {
  readonly kind: HeadKind;
  /** The last revision; the first is 1. */
  readonly at: number;
  readonly prefix: Uint8Array;
  /** Only names after it. */
  readonly after: Uint8Array | undefined;
  /** Maximum number of names. */
  readonly max: number;
}

export class NamesInHistory {
  readonly #options: NamesInHistoryOptions;
  readonly #scan: HistoryScan;
  /** Keyed on the text. The history is walked upwards, so the first event found with a name is its first. */
  readonly #found: Map<string, FoundName> = new Map();
  /** The largest name that can still be in the result, once the maximum was exceeded. */
  #last: Uint8Array | undefined;

  constructor(reader: DatabaseReader, options: NamesInHistoryOptions) {
    this.#options = options;
    this.#scan = new HistoryScan(reader, { direction: 'forward', first: 1, last: options.at, pace: pulled() });
  }

  /** Reads the next slice. Returns false at the end. */
  async step(): Promise<boolean> {
    const transactions = await this.#scan.next();
    for (const { revision, bytes, view } of transactions ?? []) {
      const { eventStarts, eventEnds } = view.body;
      for (const [index, from] of eventStarts.entries()) {
        this.#lookAt(termOf(bytes, this.#options.kind, eventFacts(bytes, from, eventEnds[index] ?? from)), revision);
      }
    }
    return transactions !== undefined;
  }

  /** The first names, in the order of their bytes; `overflowed` when there are more. */
  take(): { readonly names: readonly FoundName[]; readonly overflowed: boolean } {
    const names = this.#inOrder();
    const overflowed = this.#last !== undefined || names.length > this.#options.max;
    return { names: names.slice(0, this.#options.max), overflowed };
  }

  #lookAt(term: Uint8Array | undefined, firstRevision: number): void {
    const { prefix, after, max } = this.#options;
    if (term === undefined || !hasBytesAt(term, 0, prefix)) return;
    if (after !== undefined && compareBytes(term, after) <= 0) return;
    if (this.#last !== undefined && compareBytes(term, this.#last) > 0) return;
    const name = decodeUtf8(term);
    assert(name !== undefined, 'A name is UTF-8', term);
    if (this.#found.has(name)) return;
    this.#found.set(name, { term: term.slice(), firstRevision });
    if (this.#found.size >= 2 * max) this.#cut();
  }

  #cut(): void {
    const { max } = this.#options;
    const names = this.#inOrder();
    this.#last = names[max - 1]?.term;
    for (const { term } of names.slice(max)) this.#found.delete(decodeUtf8(term) ?? '');
  }

  #inOrder(): readonly FoundName[] {
    return [...this.#found.values()].toSorted((left, right) => compareBytes(left.term, right.term));
  }
}

/** A view; undefined for an event without a subject. */
function termOf(bytes: Uint8Array, kind: HeadKind, facts: EventFacts): Uint8Array | undefined {
  if (kind === HEAD_KIND.STREAM) return bytes.subarray(facts.streamStart, facts.streamEnd);
  if (kind === HEAD_KIND.TYPE) return bytes.subarray(facts.typeStart, facts.typeEnd);
  return facts.subjectStart < 0 ? undefined : bytes.subarray(facts.subjectStart, facts.subjectEnd);
}
