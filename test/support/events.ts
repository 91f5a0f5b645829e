/** Events for tests: a simple one that tests vary, random valid ones, and their canonical bytes. */
import * as fc from 'fast-check';
import { encodeUtf8, formatInstant, INSTANT_SECONDS_MAX, INSTANT_SECONDS_MIN, type Instant, NO_BYTES } from '#base';
import { DATA_KIND, type Event, Faults } from '#model';
import { type ExtensionValue } from '../../src/model/event.ts';
import { acceptDecoded } from '../../src/model/event-walk.ts';

const PLAIN: Event = {
  id: 'e-1',
  specVersion: '1.0',
  type: 'order.placed',
  source: 'orders',
  data: NO_BYTES,
  dataKind: DATA_KIND.UNSPECIFIED,
  extensions: new Map(),
};

/** A valid event with the attributes that matter to a test. */
export function anEvent(attributes: Partial<Event> = {}): Event {
  return { ...PLAIN, ...attributes };
}

/** Canonical bytes; throws when the event is invalid. */
export function eventBytes(attributes: Partial<Event> = {}): Uint8Array {
  const faults = new Faults();
  const bytes = acceptDecoded(anEvent(attributes), { faults, list: 'events', index: 0 });
  faults.throwIfAny('The test builds an invalid event');
  return bytes ?? NO_BYTES;
}

const nameText = (unit: 'grapheme' | 'binary' | 'grapheme-ascii'): fc.Arbitrary<string> =>
  fc
    .string({ unit, minLength: 1, maxLength: 40 })
    // oxlint-disable-next-line no-control-regex -- Names are texts without control characters.
    .map((text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?'))
    .filter((text) => text.trim() !== '' && encodeUtf8(text).length <= 255);

/** Ids, types and subjects: mostly ASCII, sometimes any allowed text. */
export const arbName: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: nameText('grapheme-ascii') },
  { weight: 1, arbitrary: nameText('grapheme') },
  { weight: 1, arbitrary: nameText('binary') },
);

const segment = fc.stringMatching(/^[a-z0-9._~%-]{1,12}$/).map((text) => text.replaceAll('%', '%2F').slice(0, 30));

const arbSource: fc.Arbitrary<string> = fc.oneof(
  segment,
  segment.map((text) => `/db/shop/streams/${text}`),
  fc.tuple(segment, segment).map(([first, last]) => `https://x.example:8080/${first}/${last}/?q=/a#/b`),
  segment.map((text) => `urn:shop:${text}`),
);

export const arbInstant: fc.Arbitrary<Instant> = fc.record({
  seconds: fc.oneof(
    fc.integer({ min: INSTANT_SECONDS_MIN, max: INSTANT_SECONDS_MAX }),
    fc.integer({ min: 1_500_000_000, max: 2_000_000_000 }),
    fc.constantFrom(0, -1, INSTANT_SECONDS_MIN, INSTANT_SECONDS_MAX),
  ),
  nanos: fc.oneof(fc.constant(0), fc.nat(999_999_999)),
});

/** A time, sometimes in a non-canonical spelling. */
const arbTime: fc.Arbitrary<NonNullable<Event['time']>> = fc
  .tuple(arbInstant, fc.constantFrom('plain', 'zeros', 'lowercase'))
  .map(([instant, spelling]) => {
    const canonical = formatInstant(instant);
    if (spelling === 'lowercase') return { instant, text: canonical.toLowerCase() };
    if (spelling === 'zeros' && instant.nanos === 0) return { instant, text: canonical.replace('Z', '.000Z') };
    return { instant, text: undefined };
  });

const arbExtensionValue: fc.Arbitrary<ExtensionValue> = fc.oneof(
  fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean() }),
  fc.record({ kind: fc.constant('integer' as const), value: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) }),
  fc.record({ kind: fc.constant('string' as const), value: fc.oneof(arbName, fc.constant('')) }),
  fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array({ maxLength: 20 }) }),
  fc.record({ kind: fc.constant('uri' as const), value: segment.map((text) => `https://x.example/${text}`) }),
  fc.record({ kind: fc.constant('uri-ref' as const), value: arbSource }),
  fc.record({ kind: fc.constant('timestamp' as const), value: arbInstant }),
);

const extensionName = fc.stringMatching(/^[a-z0-9]{1,20}$/).map((name) => `x${name}`);

const arbExtensions: fc.Arbitrary<Event['extensions']> = fc
  .array(fc.tuple(extensionName, arbExtensionValue), { maxLength: 4 })
  .map((entries) => new Map(entries));

const mediaType = fc.constantFrom(
  'application/json',
  'text/plain; charset=utf-8',
  'application/vnd.shop+json',
  'application/octet-stream',
  'text/csv; header="a;b"',
);

const arbJsonSpace = fc.constantFrom('', ' ', '\t\r\n ');

/** JSON with white space around it, which random bytes rarely contain. */
const arbPaddedJson: fc.Arbitrary<Uint8Array> = fc
  .tuple(arbJsonSpace, fc.json({ maxDepth: 2 }), arbJsonSpace)
  .map((parts) => encodeUtf8(parts.join('')));

/** A valid event, in the form that decoding its bytes returns. */
export const arbEvent: fc.Arbitrary<Event> = fc.record({
  id: arbName,
  specVersion: fc.constant('1.0'),
  type: arbName,
  source: arbSource,
  subject: fc.option(arbName, { nil: undefined }),
  time: fc.option(arbTime, { nil: undefined }),
  data: fc.oneof(fc.uint8Array({ maxLength: 60 }), arbPaddedJson),
  dataKind: fc.integer({ min: 0, max: 4 }),
  dataContentType: fc.option(mediaType, { nil: undefined }),
  dataSchema: fc.option(fc.constant('https://x.example/schema'), { nil: undefined }),
  extensions: arbExtensions,
});
