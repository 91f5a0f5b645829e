/**
 * The events of one transaction on their way into the indexes: offsets into the body, and the heads that they go under.
 *
 * Nothing is copied and, after the first large transaction, nothing is allocated: the objects are kept and filled anew.
 */
import { assert, varintLength } from '#base';
import type { TransactionBodyView } from '#model';
import { EventSkim } from './event-skim.ts';
import { HEAD_KIND } from './keys.ts';
import type { LiveHead } from './live-head.ts';
import type { LiveHeads } from './live-heads.ts';
import type { SkimmedEvent } from './skimmed-event.ts';

export class TransactionSkim {
  readonly #heads: LiveHeads;
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
    const skim = new EventSkim(bytes);
    const recordedSeconds = Math.floor(recordedTimeMs / 1000);
    const recordedNanos = (recordedTimeMs - recordedSeconds * 1000) * 1_000_000;
    this.#count = 0;
    for (let index = 0; index < eventStarts.length; index++) {
      const start = eventStarts[index] ?? 0;
      const end = eventEnds[index] ?? 0;
      assert(skim.read(start, end), 'An event of a log entry is in canonical form', start);
      const event = this.#add(bytes, skim, this.#last);
      event.offset = start - varintLength(end - start);
      event.seconds = skim.hasTime ? skim.seconds : recordedSeconds;
      event.nanos = skim.hasTime ? skim.nanos : recordedNanos;
      this.#last = event;
    }
    assert(this.#count > 0, 'A transaction has one event or more');
  }

  /** Forgets the heads of the last transaction: the cache may let go of them now. */
  forget(): void {
    this.#last = undefined;
  }

  #add(bytes: Uint8Array, skim: EventSkim, last: SkimmedEvent | undefined): SkimmedEvent {
    const heads = this.#heads;
    const sameSource = last !== undefined && isHead(last.source, bytes, skim.sourceStart, skim.sourceEnd);
    const source = sameSource
      ? last.source
      : heads.findOrMake(HEAD_KIND.SOURCE, bytes, skim.sourceStart, skim.sourceEnd);
    const stream = sameSource ? last.stream : heads.streamOf(source);
    const sameType = last !== undefined && isHead(last.type, bytes, skim.typeStart, skim.typeEnd);
    const type = sameType ? last.type : heads.findOrMake(HEAD_KIND.TYPE, bytes, skim.typeStart, skim.typeEnd);
    const hasSubject = skim.subjectStart >= 0;
    const subject = hasSubject
      ? heads.findOrMake(HEAD_KIND.SUBJECT, bytes, skim.subjectStart, skim.subjectEnd)
      : heads.noSubjectOrMake();

    const event = this.#events[this.#count] ?? this.#make(source, stream, type, subject);
    this.#count++;
    event.idStart = skim.idStart;
    event.idEnd = skim.idEnd;
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
