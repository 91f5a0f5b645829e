/**
 * An event in place in its transaction, without an object of its own.
 *
 * One object is reused for all events, so a visitor must read it before the next event.
 */
import { NO_BYTES } from '#base';
import type { StoredEvent, StoredTransaction } from '#database';

export type EventVisitor = (event: PassingEvent) => void;

export class PassingEvent {
  /** The event is `[from, to)` of these bytes. */
  bytes: Uint8Array = NO_BYTES;
  from = 0;
  to = 0;
  revision = 0;
  index = 0;
  recordedTimeMs = 0;
  /** Its stored id, when that differs from the one in its bytes. */
  storedId: string | undefined;

  /** Sets it to the event of the transaction at this index. */
  inTransaction({ revision, recordedTimeMs, bytes, view }: StoredTransaction, index: number): void {
    this.bytes = bytes;
    this.from = view.body.eventStarts[index] ?? 0;
    this.to = view.body.eventEnds[index] ?? 0;
    this.revision = revision;
    this.index = index;
    this.recordedTimeMs = recordedTimeMs;
    const { storedIds } = view;
    this.storedId = storedIds.length === 0 ? undefined : storedIds.find((stored) => stored.index === index)?.id;
  }

  /** Sets it to an event that is an object. */
  setTo({ position, recordedTimeMs, bytes, storedId }: StoredEvent): void {
    this.bytes = bytes;
    this.from = 0;
    this.to = bytes.length;
    this.revision = position.revision;
    this.index = position.index;
    this.recordedTimeMs = recordedTimeMs;
    this.storedId = storedId;
  }

  /** The same event as an object, of the same bytes. */
  toStored(): StoredEvent {
    const { revision, index, recordedTimeMs, storedId } = this;
    const event = { position: { revision, index }, recordedTimeMs, bytes: this.bytes.subarray(this.from, this.to) };
    return storedId === undefined ? event : { ...event, storedId };
  }
}
