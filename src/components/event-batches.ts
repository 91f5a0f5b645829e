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
import { EventJsonBytes, type EventQuery, type Position } from '#model';
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
/** A batch is full when an event has gone beyond its bytes; most go no further than this. */
const ROOM_BYTES = 8 * 1024;

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
  readonly #json: EventJsonBytes;
  #last: StoredEvent | undefined;
  count = 0;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
    this.#json = new EventJsonBytes(bounds.bytesMax + ROOM_BYTES);
  }

  get isFull(): boolean {
    return this.count >= this.#bounds.eventsMax || this.#json.length >= this.#bounds.bytesMax;
  }

  add(event: StoredEvent): void {
    const { position, recordedTimeMs, storedId, bytes } = event;
    const { revision, index } = position;
    this.#json.append(bytes, 0, bytes.length, { revision, index, recordedTimeMs, storedId });
    this.#last = event;
    this.count++;
  }

  take(): EventBatch {
    const { count } = this;
    const last = this.#last;
    if (last === undefined) throw new TypeError('A batch that is taken has an event');
    this.count = 0;
    return { events: this.#json.take(), count, last: { position: last.position, effective: effectiveTimeOf(last) } };
  }
}

/** The two halves of a batch of two events or more. */
export function halved(events: Uint8Array, count: number): readonly [Uint8Array, Uint8Array] {
  const view = new DataView(events.buffer, events.byteOffset, events.length);
  let at = 0;
  for (let n = 0; n < count >> 1; n++) at += LENGTH_BYTES + view.getUint32(at, true);
  return [events.subarray(0, at), events.subarray(at)];
}
