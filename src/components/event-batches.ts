/**
 * The events of a fold as guests get them: in JSON, as reads over HTTP return them, many in one piece.
 *
 * ```
 * batch      (u32le length | event)*
 * ```
 * Batches are bounded in events and in bytes, and the loop gets a turn after every slice that is read.
 */
import { setImmediate } from 'node:timers/promises';
import { assert, type Instant, NO_BYTES } from '#base';
import { EventJsonBytes, type EventQuery, type Position } from '#model';
import { type DatabaseSource, effectiveTimeOf, PassingEvent, visitEvents } from '#query';

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
  const full: EventBatch[] = [];
  const visited = visitEvents(source, { at, query }, (event) => {
    batch.add(event);
    if (batch.isFull) full.push(batch.take());
  });
  for await (const _ of visited) {
    // The page of its last event is given back before there is another one.
    batch.settle();
    yield* full.splice(0);
    await setImmediate();
  }
  if (batch.count > 0) yield batch.take();
}

class Batch {
  readonly #bounds: BatchBounds;
  readonly #json: EventJsonBytes;
  /** The last event, until it is settled when that took effect. */
  readonly #passed: PassingEvent = new PassingEvent();
  #last: LastEvent | undefined;
  count = 0;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
    this.#json = new EventJsonBytes(bounds.bytesMax + ROOM_BYTES);
  }

  get isFull(): boolean {
    return this.count >= this.#bounds.eventsMax || this.#json.length >= this.#bounds.bytesMax;
  }

  add(event: PassingEvent): void {
    const { bytes, from, to } = event;
    this.#json.append(bytes, from, to, event);
    const passed = this.#passed;
    passed.bytes = bytes;
    passed.from = from;
    passed.to = to;
    passed.revision = event.revision;
    passed.index = event.index;
    passed.recordedTimeMs = event.recordedTimeMs;
    this.count++;
  }

  settle(): void {
    const { bytes, from, to, revision, index, recordedTimeMs } = this.#passed;
    if (this.count === 0 || bytes.length === 0) return;
    const position = { revision, index };
    this.#last = {
      position,
      effective: effectiveTimeOf({ position, recordedTimeMs, bytes: bytes.subarray(from, to) }),
    };
    this.#passed.bytes = NO_BYTES;
  }

  take(): EventBatch {
    this.settle();
    const [count, last] = [this.count, this.#last];
    assert(last !== undefined, 'A batch that is taken has an event');
    this.count = 0;
    return { events: this.#json.take(), count, last };
  }
}

/** The two halves of a batch of two events or more. */
export function halved(events: Uint8Array, count: number): readonly [Uint8Array, Uint8Array] {
  const view = new DataView(events.buffer, events.byteOffset, events.length);
  let at = 0;
  for (let n = 0; n < count >> 1; n++) at += LENGTH_BYTES + view.getUint32(at, true);
  return [events.subarray(0, at), events.subarray(at)];
}
