// Goal: a client decodes framed events to the stored events with the fields of the server (Q9), in every framing.
// Method: random events, encoded and decoded by the generated code of the protocol.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventFrames, type Framing, type StoredEvent } from '#query';
import { SubscribeEventsReply } from '../../../proto/gen/cairn/v1/database.ts';
import { Event, EventBatch } from '../../../proto/gen/cairn/v1/event.ts';

interface Written {
  readonly wire: Event;
  readonly stored: StoredEvent;
}

const written: fc.Arbitrary<Written> = fc
  .record({
    id: fc.string({ minLength: 1, maxLength: 20 }),
    data: fc.uint8Array({ maxLength: 300 }),
    extension: fc.option(fc.string(), { nil: undefined }),
    revision: fc.oneof(fc.constantFrom(1, 127, 128, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER), fc.integer({ min: 1 })),
    index: fc.nat(999),
    recordedTimeMs: fc.oneof(fc.constantFrom(0, 999, 1_000, 1_763_600_000_123), fc.nat(2 ** 48)),
    storedId: fc.option(fc.string({ minLength: 1, maxLength: 300 }), { nil: undefined }),
  })
  .map(({ id, data, extension, revision, index, recordedTimeMs, storedId }) => {
    const wire = Event.fromPartial({
      id,
      specVersion: '1.0',
      ty: 'shop.ordered',
      source: '/streams/orders',
      data: Buffer.from(data),
      extensions: extension === undefined ? {} : { note: { attr: { $case: 'ceString', value: extension } } },
    });
    const bytes = Event.encode(wire).finish();
    const stored = { position: { revision, index }, recordedTimeMs, bytes };
    return { wire, stored: storedId === undefined ? stored : { ...stored, storedId } };
  });

function expected({ wire, stored }: Written, logScan: boolean): Event {
  const revision = String(stored.position.revision);
  const ms = stored.recordedTimeMs;
  return {
    ...wire,
    id: stored.storedId ?? wire.id,
    revision: stored.position.revision,
    index: stored.position.index,
    recordedTime: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 },
    extensions: logScan
      ? { ...wire.extensions, revision: { attr: { $case: 'ceString', value: revision } } }
      : wire.extensions,
  };
}

/** Returns the messages between the gRPC headers. */
function messages(framed: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < framed.length; ) {
    const header = Buffer.from(framed.subarray(at, at + 5));
    expect(header[0]).toBe(0);
    const end = at + 5 + header.readUInt32BE(1);
    found.push(framed.subarray(at + 5, end));
    at = end;
  }
  return found;
}

const DECODE: Record<Framing, (framed: Uint8Array) => readonly (Event | undefined)[]> = {
  messages: (framed) => messages(framed).map((message) => Event.decode(message)),
  replies: (framed) =>
    messages(framed).map((message) => {
      const reply = SubscribeEventsReply.decode(message);
      return reply.message?.$case === 'event' ? reply.message.value : undefined;
    }),
  batch: (framed) => messages(framed).flatMap((message) => EventBatch.decode(message).events),
};

describe.each(['messages', 'replies', 'batch'] as const)('events framed as %s', (framing) => {
  it.each([true, false])(
    'decode to the stored event with the fields of the server (Q9), for a log scan: %s',
    (logScan) => {
      fc.assert(
        fc.property(fc.array(written, { minLength: 1, maxLength: 20 }), fc.nat(400), (events, startBytes) => {
          const frames = new EventFrames({ framing, logScan, startBytes });
          for (const { stored } of events) frames.append(stored);
          expect(frames.eventCount).toBe(events.length);
          expect(DECODE[framing](frames.take())).toEqual(events.map((event) => expected(event, logScan)));
        }),
      );
    },
  );

  it('are empty after each take, and leave the taken bytes unchanged', () => {
    const [first, second] = fc.sample(written, { numRuns: 2, seed: 1 });
    if (first === undefined || second === undefined) throw new Error('Two samples were asked for');
    const frames = new EventFrames({ framing });
    frames.append(first.stored);
    const taken = frames.take();
    frames.append(second.stored);
    expect(DECODE[framing](frames.take())).toEqual([expected(second, false)]);
    expect(DECODE[framing](taken)).toEqual([expected(first, false)]);
  });

  it('have no bytes when nothing was appended', () => {
    const frames = new EventFrames({ framing });
    expect(frames.take()).toEqual(new Uint8Array(0));
    expect(frames.byteLength).toBe(0);
  });
});

it.each([1, 127, 128, 2 ** 53 - 1])('a batch contains the revision of its read, %s', (readAt) => {
  const [one] = fc.sample(written, { numRuns: 1, seed: 1 });
  if (one === undefined) throw new Error('A sample was asked for');
  const frames = new EventFrames({ framing: 'batch', readAt, startBytes: 0 });
  frames.append(one.stored);
  const framed = frames.take();
  expect(DECODE.batch(framed)).toEqual([expected(one, false)]);
  expect(messages(framed).map((message) => EventBatch.decode(message).revision)).toEqual([readAt]);
});
