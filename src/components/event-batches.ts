/**
 * The events of a fold as guests get them: in JSON, as reads over HTTP return them, or as values of the SDK's shape;
 * many in one piece.
 *
 * ```
 * batch      (u32le length | event)*
 * ```
 * Batches are bounded in events and in bytes, and the loop gets a turn after every slice that is read.
 */
import { setImmediate } from 'node:timers/promises';

import { assert, ByteWriter, type Instant, NO_BYTES } from '#base';
import { EventJsonBytes, type EventQuery, type Position, type ServerFields, type SpareMemory } from '#model';
import { type DatabaseSource, EventOrdinals, effectiveTimeOf, PassingEvent, visitEvents } from '#query';
import { type Shape, writeValue } from '#wasm';
import { eventValue } from './sdk-values.ts';

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
  /** Without a limit: all that is selected. */
  readonly query: EventQuery;
  readonly bounds: BatchBounds;
  /** Of the guest that they are for. Default: `own`. */
  readonly shape?: Shape;
}

export const LENGTH_BYTES = 4;
/** A batch is full when an event has gone beyond its bytes; most go no further than this. */
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
    // The page of its last event is given back before there is another one.
    batch.settle();
    yield* full.splice(0);
    await setImmediate();
  }
  if (batch.count > 0) yield batch.take();
}

/** The same for all that is behind an event that has come. */
export function behindLast(asked: BatchedQuery, { position, effective }: LastEvent): BatchedQuery {
  const { query } = asked;
  const rest =
    query.effectiveTime === undefined
      ? { revisions: { ...query.revisions, start: position.revision } }
      : { effectiveTime: { ...query.effectiveTime, start: effective } };
  return { ...asked, query: { ...query, ...rest, after: position } };
}

/** Events as one kind of guest gets them, each with its length in front of it. */
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
  /** The last event, until it is settled when that took effect. */
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

/** The first events of a batch, and the others. */
export function split(events: Uint8Array, count: number): readonly [Uint8Array, Uint8Array] {
  const view = new DataView(events.buffer, events.byteOffset, events.length);
  let at = 0;
  for (let n = 0; n < count; n++) at += LENGTH_BYTES + view.getUint32(at, true);
  return [events.subarray(0, at), events.subarray(at)];
}
