/**
 * Offsets of all fields in the canonical bytes of an event, in one pass that builds nothing.
 *
 * A fold reuses one object for millions of stored events. Such an event was checked when accepted, and its bytes are
 * verified, so `read` trusts their order and encoding, and only checks that fields fill the bytes. `layOutEvent`
 * (event-layout.ts) trusts nothing.
 */
import { assert } from '#base';
import { TAG } from './event-wire.ts';
import { readTimestamp } from './timestamp-wire.ts';
import { streamSpan } from './uri.ts';

/**
 * Half-open ranges in the array that was read. A start of −1 means that the attribute is absent. The stream lies inside
 * the source.
 */
export class EventSpans {
  idStart = -1;
  idEnd = -1;
  versionStart = -1;
  versionEnd = -1;
  typeStart = -1;
  typeEnd = -1;
  sourceStart = -1;
  sourceEnd = -1;
  subjectStart = -1;
  subjectEnd = -1;
  /** Range of the Timestamp message. */
  timeStart = -1;
  timeEnd = -1;
  timeTextStart = -1;
  timeTextEnd = -1;
  dataStart = -1;
  dataEnd = -1;
  /** All entries with their tags. */
  extensionsStart = -1;
  extensionsEnd = -1;
  contentTypeStart = -1;
  contentTypeEnd = -1;
  schemaStart = -1;
  schemaEnd = -1;
  dataKind = 0;
  /** Set by `placeTime`; 0 without a time. */
  seconds = 0;
  nanos = 0;

  /** Inside the source, once `placeStream` was called. */
  streamStart = -1;
  streamEnd = -1;

  get hasTime(): boolean {
    return this.timeStart !== -1;
  }

  /** Reads the stored event `[from, to)`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    this.forget();
    let at = from;
    while (at < to) {
      const start = at;
      const tag = bytes[at++] ?? 0;
      let length = bytes[at++] ?? 0;
      if (tag === TAG.DATA_KIND) {
        this.dataKind = length;
        continue;
      }
      if (length > 0x7f) {
        length &= 0x7f;
        for (let shift = 7, more = true; more && shift < 35; shift += 7) {
          const byte = bytes[at++] ?? 0;
          length |= (byte & 0x7f) << shift;
          more = byte > 0x7f;
        }
      }
      // Unsigned, so that no length leads back.
      const end = at + (length >>> 0);
      if (tag === TAG.EXTENSIONS) {
        if (this.extensionsStart === -1) this.extensionsStart = start;
        this.extensionsEnd = end;
      } else if (!this.place(tag, at, end)) assert(false, 'A stored event has known fields only', tag);
      at = end;
    }
    const isNamed = this.idStart !== -1 && this.typeStart !== -1 && this.sourceStart !== -1;
    assert(at === to && isNamed, 'A stored event is in canonical wire form', from);
  }

  /** Finds the stream of the event that was read last. */
  placeStream(bytes: Uint8Array): void {
    const { start, end } = streamSpan(bytes, this.sourceStart, this.sourceEnd);
    this.streamStart = start;
    this.streamEnd = end;
  }

  /** Reads the time of the event that was read last, if it has one. Returns false when it is not canonical. */
  placeTime(bytes: Uint8Array): boolean {
    if (this.timeStart === -1) return true;
    const instant = readTimestamp(bytes, this.timeStart, this.timeEnd);
    this.seconds = instant?.seconds ?? 0;
    this.nanos = instant?.nanos ?? 0;
    return instant !== undefined;
  }

  /** Records a field with a length, other than an extension. Returns false when an event has no such field. */
  place(tag: number, start: number, end: number): boolean {
    switch (tag) {
      case TAG.ID:
        this.idStart = start;
        this.idEnd = end;
        return true;
      case TAG.SPEC_VERSION:
        this.versionStart = start;
        this.versionEnd = end;
        return true;
      case TAG.TYPE:
        this.typeStart = start;
        this.typeEnd = end;
        return true;
      case TAG.SOURCE:
        this.sourceStart = start;
        this.sourceEnd = end;
        return true;
      case TAG.SUBJECT:
        this.subjectStart = start;
        this.subjectEnd = end;
        return true;
      case TAG.DATA:
        this.dataStart = start;
        this.dataEnd = end;
        return true;
      default:
        return this.#placeRare(tag, start, end);
    }
  }

  #placeRare(tag: number, start: number, end: number): boolean {
    switch (tag) {
      case TAG.TIME:
        this.timeStart = start;
        this.timeEnd = end;
        return true;
      case TAG.TIME_TEXT:
        this.timeTextStart = start;
        this.timeTextEnd = end;
        return true;
      case TAG.DATA_CONTENT_TYPE:
        this.contentTypeStart = start;
        this.contentTypeEnd = end;
        return true;
      case TAG.DATA_SCHEMA:
        this.schemaStart = start;
        this.schemaEnd = end;
        return true;
      default:
        return false;
    }
  }

  /** Resets the starts. Ends are ignored without a start, except that of the payload, which is subtracted from. */
  forget(): void {
    this.idStart = -1;
    this.versionStart = -1;
    this.typeStart = -1;
    this.sourceStart = -1;
    this.subjectStart = -1;
    this.timeStart = -1;
    this.timeTextStart = -1;
    this.dataStart = -1;
    this.dataEnd = -1;
    this.extensionsStart = -1;
    this.contentTypeStart = -1;
    this.schemaStart = -1;
    this.dataKind = 0;
    this.seconds = 0;
    this.nanos = 0;
    this.streamStart = -1;
  }
}

export type EventFacts = Readonly<EventSpans>;

/** Offsets in an event that was accepted before; other bytes are a corruption of stored data. */
export function eventFacts(bytes: Uint8Array, from: number, to: number): EventSpans {
  const spans = new EventSpans();
  spans.read(bytes, from, to);
  spans.placeStream(bytes);
  assert(spans.placeTime(bytes), 'The time of a stored event is canonical', from);
  return spans;
}
