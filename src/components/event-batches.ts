/**
 * The events of a fold as guests get them: in JSON, as reads over HTTP return them, many in one piece.
 *
 * ```
 * batch      (u32le length | event)*
 * ```
 * Batches are bounded in events and in bytes, and the loop gets a turn after every slice that is read.
 */
import { setImmediate } from 'node:timers/promises';
import type { Instant } from '#base';
import { type EventQuery, eventToJson, type Position } from '#model';
import { type DatabaseSource, effectiveTimeOf, queryEvents, type StoredEvent } from '#query';

export interface BatchBounds {
  readonly eventsMax: number;
  /** An event that alone is more makes a batch of its own. */
  readonly bytesMax: number;
}

export interface EventBatch {
  readonly events: Uint8Array;
  readonly count: number;
  readonly last: LastEvent;
}

/** The event that a fold has come to. */
export interface LastEvent {
  readonly position: Position;
  readonly effective: Instant;
}

export interface BatchedQuery {
  readonly at: number;
  readonly query: EventQuery;
  readonly bounds: BatchBounds;
}

const LENGTH_BYTES = 4;
/** One unit of UTF-16 takes three bytes at most. */
const BYTES_PER_UNIT = 3;

export async function* eventBatches(
  source: DatabaseSource,
  { at, query, bounds }: BatchedQuery,
): AsyncGenerator<EventBatch, undefined> {
  const batch = new Batch(bounds);
  for await (const slice of queryEvents(source, { at, query, lent: true })) {
    for (const event of slice) {
      batch.add(event);
      if (batch.isFull) yield batch.take();
    }
    await setImmediate();
  }
  if (batch.count > 0) yield batch.take();
}

class Batch {
  readonly #bounds: BatchBounds;
  #buffer: Buffer;
  #length = 0;
  #last: LastEvent | undefined;
  count = 0;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
    this.#buffer = Buffer.allocUnsafe(bounds.bytesMax);
  }

  get isFull(): boolean {
    return this.count >= this.#bounds.eventsMax || this.#length >= this.#bounds.bytesMax;
  }

  add(event: StoredEvent): void {
    const { position, recordedTimeMs, storedId, bytes } = event;
    const text = eventToJson(bytes, {
      revision: position.revision,
      index: position.index,
      recordedTimeMs,
      ...(storedId === undefined ? {} : { storedId }),
    });
    this.#reserve(LENGTH_BYTES + text.length * BYTES_PER_UNIT);
    const from = this.#length + LENGTH_BYTES;
    const length = this.#buffer.write(text, from, 'utf8');
    this.#buffer.writeUInt32LE(length, this.#length);
    this.#length = from + length;
    this.#last = { position, effective: effectiveTimeOf(event) };
    this.count++;
  }

  take(): EventBatch {
    const { count } = this;
    const last = this.#last;
    if (last === undefined) throw new TypeError('A batch that is taken has an event');
    const events = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.allocUnsafe(this.#bounds.bytesMax);
    this.#length = 0;
    this.count = 0;
    return { events, count, last };
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** The two halves of a batch of two events or more. */
export function halved(events: Uint8Array, count: number): readonly [Uint8Array, Uint8Array] {
  const view = new DataView(events.buffer, events.byteOffset, events.length);
  let at = 0;
  for (let n = 0; n < count >> 1; n++) at += LENGTH_BYTES + view.getUint32(at, true);
  return [events.subarray(0, at), events.subarray(at)];
}
