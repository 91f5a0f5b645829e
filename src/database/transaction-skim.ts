/**
 * The events of one transaction that is being indexed: offsets into the body, and the heads of their lists.
 *
 * Nothing is copied and, after the first large transaction, nothing is allocated: the objects are reused.
 */
import { assert, varintLength } from '#base';
import { EventSpans, type TransactionBodyView } from '#model';
import { HEAD_KIND } from './keys.ts';
import type { LiveHead } from './live-head.ts';
import type { LiveHeads, SkimmedEvent } from './live-heads.ts';

export class TransactionSkim {
  readonly #heads: LiveHeads;
  readonly #spans: EventSpans = new EventSpans();
  readonly #events: SkimmedEvent[] = [];
  #count = 0;
  /** The event read last, also of the transaction before: neighbours mostly share source and type. */
  #last: SkimmedEvent | undefined;

  constructor(heads: LiveHeads) {
    this.#heads = heads;
  }

  get count(): number {
    return this.#count;
  }

  at(index: number): SkimmedEvent {
    const event = this.#events[index];
    assert(event !== undefined && index < this.#count, 'An event of the transaction is asked for', index);
    return event;
  }

  /** Reads the events of a body; heads that are new are made. Fails on bytes that no version of ours has written. */
  read(body: TransactionBodyView, recordedTimeMs: number): void {
    const { bytes, eventStarts, eventEnds } = body;
    const spans = this.#spans;
    const recordedSeconds = Math.floor(recordedTimeMs / 1000);
    const recordedNanos = (recordedTimeMs - recordedSeconds * 1000) * 1_000_000;
    this.#count = 0;
    for (let index = 0; index < eventStarts.length; index++) {
      const start = eventStarts[index] ?? 0;
      const end = eventEnds[index] ?? 0;
      spans.read(bytes, start, end);
      assert(spans.placeTime(bytes), 'The time of an event of a log entry is canonical', start);
      const event = this.#add(bytes, spans, this.#last);
      event.offset = start - varintLength(end - start);
      event.seconds = spans.hasTime ? spans.seconds : recordedSeconds;
      event.nanos = spans.hasTime ? spans.nanos : recordedNanos;
      this.#last = event;
    }
    assert(this.#count > 0, 'A transaction has one event or more');
  }

  /** Drops the heads of the last transaction, so that the cache may evict them. */
  forget(): void {
    this.#last = undefined;
  }

  #add(bytes: Uint8Array, spans: EventSpans, last: SkimmedEvent | undefined): SkimmedEvent {
    const heads = this.#heads;
    const sameSource = last !== undefined && isHead(last.source, bytes, spans.sourceStart, spans.sourceEnd);
    const source = sameSource
      ? last.source
      : heads.findOrMake(HEAD_KIND.SOURCE, bytes, spans.sourceStart, spans.sourceEnd);
    const stream = sameSource ? last.stream : heads.streamOf(source);
    const sameType = last !== undefined && isHead(last.type, bytes, spans.typeStart, spans.typeEnd);
    const type = sameType ? last.type : heads.findOrMake(HEAD_KIND.TYPE, bytes, spans.typeStart, spans.typeEnd);
    const hasSubject = spans.subjectStart >= 0;
    const subject = hasSubject
      ? heads.findOrMake(HEAD_KIND.SUBJECT, bytes, spans.subjectStart, spans.subjectEnd)
      : heads.noSubjectOrMake();

    const event = this.#events[this.#count] ?? this.#make(source, stream, type, subject);
    this.#count++;
    event.idStart = spans.idStart;
    event.idEnd = spans.idEnd;
    event.source = source;
    event.stream = stream;
    event.type = type;
    event.subject = subject;
    event.hasSubject = hasSubject;
    event.id = undefined;
    event.storedId = undefined;
    return event;
  }

  #make(source: LiveHead, stream: LiveHead, type: LiveHead, subject: LiveHead): SkimmedEvent {
    const offsets = { offset: 0, idStart: 0, idEnd: 0, hasSubject: false, seconds: 0, nanos: 0 };
    const event = { ...offsets, source, stream, type, subject, id: undefined, storedId: undefined };
    this.#events.push(event);
    return event;
  }
}

function isHead(head: LiveHead, bytes: Uint8Array, from: number, to: number): boolean {
  return head.isOf(bytes, from, to);
}
