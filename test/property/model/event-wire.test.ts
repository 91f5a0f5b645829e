// Goal: decoding inverts encoding, and the walk accepts exactly the canonical form (M1, M4, M5). Method: random events;
// random and mutated bytes, decoded and encoded again.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, decodeUtf8, formatInstant, NO_BYTES } from '#base';
import { acceptEvent, type Event, encodeEvent, eventFacts, Faults, readEvent, streamOfSource, walkEvent } from '#model';
import { decodeEvent } from '../../../src/model/event-decode.ts';
import { acceptDecoded } from '../../../src/model/event-walk.ts';
import { anEvent, arbEvent } from '../../support/events.ts';
import { runs } from '../../support/runs.ts';

const place = () => ({ faults: new Faults(), list: 'events', index: 0 });

/** The event after decoding, which drops a canonical spelling of the time. */
function asDecoded(event: Event): Event {
  if (event.time === undefined) return event;
  const { instant, text } = event.time;
  return { ...event, time: { instant, text: text === formatInstant(instant) ? undefined : text } };
}

it('a valid event goes into canonical bytes and back unchanged (M5)', () => {
  fc.assert(
    fc.property(arbEvent, fc.nat(9), (event, margin) => {
      const bytes = encodeEvent(event);
      const padded = concatBytes([new Uint8Array(margin).fill(0xff), bytes, new Uint8Array(3).fill(0xff)]);
      expect(readEvent(padded, margin, margin + bytes.length)).toEqual(asDecoded(event));
      expect(encodeEvent(readEvent(bytes, 0, bytes.length))).toEqual(bytes);
    }),
  );
});

it('a valid event is accepted, and its facts locate every field', () => {
  fc.assert(
    fc.property(arbEvent, (event) => {
      const at = place();
      const bytes = acceptDecoded(event, at);
      expect(at.faults.violations).toEqual([]);
      expect(bytes).toBeDefined();
      expect(attributesOf(bytes ?? NO_BYTES)).toEqual({
        id: event.id,
        type: event.type,
        source: event.source,
        stream: streamOfSource(event.source),
        subject: event.subject,
        instant: event.time?.instant,
      });
    }),
  );
});

function attributesOf(bytes: Uint8Array): unknown {
  const facts = eventFacts(bytes, 0, bytes.length);
  const { seconds, nanos } = facts;
  return {
    id: decodeUtf8(bytes, facts.idStart, facts.idEnd),
    type: decodeUtf8(bytes, facts.typeStart, facts.typeEnd),
    source: decodeUtf8(bytes, facts.sourceStart, facts.sourceEnd),
    stream: decodeUtf8(bytes, facts.streamStart, facts.streamEnd),
    subject: facts.subjectStart === -1 ? undefined : decodeUtf8(bytes, facts.subjectStart, facts.subjectEnd),
    instant: facts.hasTime ? { seconds, nanos } : undefined,
  };
}

type Outcome = 'accepted' | 'refused' | 'not-canonical';

function outcome(walked: ReturnType<typeof walkEvent>): Outcome {
  if (walked === undefined) return 'refused';
  return walked === 'not-canonical' ? walked : 'accepted';
}

/** The allowed results of the walk, computed by decoding and encoding. */
function allowedOutcomes(bytes: Uint8Array): readonly Outcome[] {
  const decoded = decodeEvent(bytes, 0, bytes.length, place());
  // Bytes that cannot be decoded may be refused by the walk, but never accepted.
  if (decoded === undefined) return ['not-canonical', 'refused'];
  if (Buffer.compare(encodeEvent(decoded), bytes) !== 0) return ['not-canonical'];
  return [acceptDecoded(decoded, place()) === undefined ? 'refused' : 'accepted'];
}

describe('bytes of any origin', () => {
  const mutated = fc
    .tuple(arbEvent, fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 3 }), fc.nat(400))
    .map(([event, changes, cut]) => {
      const bytes = encodeEvent(event);
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return cut < bytes.length ? bytes.subarray(0, cut) : bytes;
    });

  it('are canonical exactly when decoding and encoding them again changes nothing (M4)', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 30 })), (bytes) => {
        const walked = outcome(walkEvent(bytes, 0, bytes.length, place()));
        expect(allowedOutcomes(bytes)).toContain(walked);
      }),
      { numRuns: runs(3000) },
    );
  });

  it('are accepted or refused with faults, and acceptance is stable', () => {
    fc.assert(
      fc.property(mutated, (bytes) => {
        const first = place();
        const accepted = acceptEvent(bytes, 0, bytes.length, first);
        expect(first.faults.none).toBe(accepted !== undefined);
        const stored = accepted ?? encodeEvent(anEvent());
        expect(acceptEvent(stored, 0, stored.length, place())).toEqual(stored);
        expect(() => eventFacts(stored, 0, stored.length)).not.toThrow();
      }),
      { numRuns: runs(1000) },
    );
  });
});
