/**
 * Events of a fold in the form for guests: JSON as in HTTP reads, or values of the SDK's shape; many in one buffer.
 *
 * ```
 * batch      (u32le length | event)*
 * ```
 * Batches are limited in events and bytes, and the event loop gets a turn after every slice.
 */
import { setImmediate } from 'node:timers/promises';

import { assert, ByteWriter, type Instant, NO_BYTES } from '#base';
import { EventJsonBytes, type EventQuery, type Position, type ServerFields, type SpareMemory } from '#model';
import { type DatabaseSource, EventOrdinals, effectiveTimeOf, PassingEvent, visitEvents } from '#query';
import { type Shape, writeValue } from '#wasm';
import { eventValue } from './sdk-values.ts';

export interface BatchBounds {
  readonly eventsMax: number;
  /** A larger event is a batch of its own. */
  readonly bytesMax: number;
}

export interface EventBatch {
  readonly events: Uint8Array;
  readonly count: number;
  readonly last: LastEvent;
}

/** The last folded event. */
export interface LastEvent {
  readonly position: Position;
  readonly effective: Instant;
}

export interface BatchedQuery {
  readonly at: number;
  /** All selected events, without a limit. */
  readonly query: EventQuery;
  readonly bounds: BatchBounds;
  /** Shape of the guest. Default: `own`. */
  readonly shape?: Shape;
}

export const LENGTH_BYTES = 4;
/** A batch is full when an event exceeds its size; this is the usual excess. */
const ROOM_BYTES = 8 * 1024;

export async function* eventBatches(
  source: DatabaseSource,
  { at, query, bounds, shape = 'own' }: BatchedQuery,
  spare?: SpareMemory,
): AsyncGenerator<EventBatch, undefined> {
  const startBytes = bounds.bytesMax + ROOM_BYTES;
  const batch = new Batch(
    bounds,
    shape === 'own' ? new EventJsonBytes(startBytes, spare) : new EventValueBytes(source, startBytes),
  );
  const full: EventBatch[] = [];
  const visited = visitEvents(source, { at, query }, (event) => {
    batch.add(event);
    if (batch.isFull) full.push(batch.take());
  });
  for await (const _ of visited) {
    // The bytes of its last event are released before the next batch.
    batch.settle();
    yield* full.splice(0);
    await setImmediate();
  }
  if (batch.count > 0) yield batch.take();
}

/** The query for everything after an event. */
export function behindLast(asked: BatchedQuery, { position, effective }: LastEvent): BatchedQuery {
  const { query } = asked;
  const rest =
    query.effectiveTime === undefined
      ? { revisions: { ...query.revisions, start: position.revision } }
      : { effectiveTime: { ...query.effectiveTime, start: effective } };
  return { ...asked, query: { ...query, ...rest, after: position } };
}

/** Encodes events for one kind of guest, each with a length prefix. */
type EventBytes = Pick<EventJsonBytes, 'length' | 'append' | 'take'>;

class EventValueBytes implements EventBytes {
  readonly #ordinals: EventOrdinals;
  readonly #writer: ByteWriter;
  readonly #event: ByteWriter = new ByteWriter(ROOM_BYTES);

  constructor(source: DatabaseSource, startBytes: number) {
    this.#ordinals = new EventOrdinals(source);
    this.#writer = new ByteWriter(startBytes);
  }

  get length(): number {
    return this.#writer.length;
  }

  append(bytes: Uint8Array, from: number, to: number, server: ServerFields): void {
    this.#event.reset();
    writeValue(this.#event, eventValue({ bytes, from, to }, server, this.#ordinals.of(server)));
    this.#writer.u32le(this.#event.length);
    this.#writer.bytes(this.#event.view());
  }

  take(): Uint8Array {
    return this.#writer.take();
  }
}

class Batch {
  readonly #bounds: BatchBounds;
  readonly #events: EventBytes;
  /** The last event; its effective time is read when the batch is settled. */
  readonly #passed: PassingEvent = new PassingEvent();
  #last: LastEvent | undefined;
  count = 0;

  constructor(bounds: BatchBounds, events: EventBytes) {
    this.#bounds = bounds;
    this.#events = events;
  }

  get isFull(): boolean {
    return this.count >= this.#bounds.eventsMax || this.#events.length >= this.#bounds.bytesMax;
  }

  add(event: PassingEvent): void {
    const { bytes, from, to } = event;
    this.#events.append(bytes, from, to, event);
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
    return { events: this.#events.take(), count, last };
  }
}

/** Splits a batch after `count` events. */
export function split(events: Uint8Array, count: number): readonly [Uint8Array, Uint8Array] {
  const view = new DataView(events.buffer, events.byteOffset, events.length);
  let at = 0;
  for (let n = 0; n < count; n++) at += LENGTH_BYTES + view.getUint32(at, true);
  return [events.subarray(0, at), events.subarray(at)];
}
