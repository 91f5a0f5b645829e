// Goal: a transaction is encoded as the payload of a log entry and as a log record, and is read there in place; unknown
// formats are reported by name. Method: expected bytes for the layout, and random transactions encoded and decoded.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokenInvariant, concatBytes, encodeUtf8, toHex } from '#base';
import {
  constraintsOf,
  decodeTransactionOptions,
  encodeTransactPayload,
  Faults,
  faultInTransactPayload,
  NO_OPTIONS,
  ORIGIN,
  optionsOfBody,
  readEvent,
  readLoggedTransaction,
  readTransactPayload,
  stampPayload,
  type TransactionBodyView,
  type TransactionOptions,
  type TransactPayload,
  transactionTooLarge,
} from '#model';
import { isOrigin } from '../../../src/model/transaction.ts';
import { encodeTransactionOptions } from '../../../src/model/transaction-options.ts';
import { arbName, eventBytes } from '../../support/events.ts';
import { encodeLoggedTransaction } from '../../support/logged-transaction.ts';
import { hex, textsOf } from '../../support/model-reading.ts';
import { runs } from '../../support/runs.ts';
import { arbSelector } from '../../support/selectors.ts';

const ID = Uint8Array.from({ length: 16 }, (_, i) => i);
const HASH = new Uint8Array(32).fill(0xab);

const arbOptions: fc.Arbitrary<TransactionOptions> = fc.record({
  lastReadRevision: fc.option(fc.maxSafeNat(), { nil: undefined }),
  principalAttributes: fc
    .array(fc.tuple(arbName, fc.string({ unit: 'grapheme' })), { maxLength: 4 })
    .map((list) => new Map(list)),
  commitMessage: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
  correlationId: fc.option(arbName, { nil: undefined }),
  causationId: fc.option(arbName, { nil: undefined }),
});

const arbPayload: fc.Arbitrary<TransactPayload> = fc.record({
  transactionId: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  origin: fc.integer({ min: 0, max: 6 }).map((value) => (isOrigin(value) ? value : ORIGIN.UNSPECIFIED)),
  options: arbOptions,
  constraints: fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constantFrom('min-revision' as const, 'max-revision' as const),
        revision: fc.maxSafeNat(),
        selector: fc.option(arbSelector, { nil: undefined }),
      }),
      fc.record({ kind: fc.constant('revision-range' as const), start: fc.nat(9), end: fc.constant(9) }),
    ),
    { maxLength: 5 },
  ),
  events: fc.array(
    arbName.map((subject) => eventBytes({ subject })),
    { minLength: 1, maxLength: 5 },
  ),
});

const eventsOf = ({ bytes, eventStarts, eventEnds }: TransactionBodyView): readonly Uint8Array[] =>
  eventStarts.map((start, i) => bytes.subarray(start, eventEnds[i]));

function payloadOf(events: readonly Uint8Array[]): Uint8Array {
  return encodeTransactPayload({ transactionId: ID, origin: 1, options: NO_OPTIONS, constraints: [], events });
}

it('the payload of a transaction has the documented layout', () => {
  const payload = encodeTransactPayload({
    transactionId: ID,
    origin: ORIGIN.GRPC_TRANSACTION,
    options: { principalAttributes: new Map(), lastReadRevision: 7 },
    constraints: [{ kind: 'max-revision', revision: 3 }],
    events: [hex('0a0131')],
  });
  stampPayload(payload, 0x0102030405);
  const body = `090504030201000000 1210${toHex(ID)} 1803 22020807 7a030a0131`;
  expect(payload).toEqual(hex(`01 01 05 04 12020803 ${body}`));
});

it('the payload of a transaction is read in place as it was written, at any offset', () => {
  fc.assert(
    fc.property(arbPayload, fc.nat(2 ** 48 - 1), fc.nat(9), (payload, timeMs, margin) => {
      const bytes = encodeTransactPayload(payload);
      stampPayload(bytes, timeMs);
      const padded = concatBytes([new Uint8Array(margin).fill(0xff), bytes, hex('ff')]);
      const view = readTransactPayload(padded, margin, margin + bytes.length);
      expect(constraintsOf(view)).toEqual(payload.constraints);
      expect(view.body).toMatchObject({ recordedTimeMs: timeMs, origin: payload.origin, end: margin + bytes.length });
      const { transactionIdStart } = view.body;
      expect(padded.subarray(transactionIdStart, transactionIdStart + 16)).toEqual(payload.transactionId);
      expect(optionsOfBody(view.body)).toEqual(payload.options);
      expect(eventsOf(view.body)).toEqual(payload.events);
    }),
  );
});

it.each<[string, (bytes: Uint8Array) => Uint8Array, string]>([
  ['an unknown format', (bytes) => bytes.with(0, 2), 'its format 2 and kind 1 are not 1 and 1 or 7'],
  ['another kind', (bytes) => bytes.with(1, 16), 'its format 1 and kind 16 are not 1 and 1 or 7'],
  ['constraints that reach past the end', (bytes) => bytes.with(2, 0x7f), 'The constraints lie inside'],
  ['a body that begins otherwise', (bytes) => bytes.with(3, 8), 'A transaction body begins with its'],
  ['an unknown origin', (bytes) => bytes.with(31, 9), 'A transaction body holds known fields only'],
  ['a cut end', (bytes) => bytes.subarray(0, -1), 'A transaction body holds known fields only'],
])('the payload of a transaction is not read when it has %s', (_what, damage, message) => {
  const damaged = damage(payloadOf([hex('0a0131')]));
  expect(() => readTransactPayload(damaged)).toThrow(BrokenInvariant);
  expect(() => readTransactPayload(damaged)).toThrow(message);
});

const accepted = arbPayload.map(encodeTransactPayload);

it('a changed payload of another writer has a fault, or can be stamped and read', () => {
  const changed = fc
    .tuple(accepted, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean())
    .map(([good, at, flip, isCut]) => {
      const place = at % good.length;
      return isCut ? good.slice(0, place) : good.map((byte, index) => (index === place ? byte ^ flip : byte));
    });
  fc.assert(fc.property(accepted, (bytes) => faultInTransactPayload(bytes) === undefined));
  const property = fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 60 })), (bytes) => {
    if (faultInTransactPayload(bytes) !== undefined) return;
    stampPayload(bytes, 7);
    const view = readTransactPayload(bytes);
    constraintsOf(view);
    optionsOfBody(view.body);
    for (const event of eventsOf(view.body)) readEvent(event, 0, event.length);
  });
  expect(() => fc.assert(property, { numRuns: runs(1_000) })).not.toThrow();
});

it('a payload has a fault when it has no events: no other replica would accept its record', () => {
  expect(faultInTransactPayload(payloadOf([]))).toBe('events must have at least one event');
});

it('a payload has a fault when its transaction id is a byte short', () => {
  const [...bytes] = payloadOf([eventBytes()]);
  // Offset after format, kind, an empty list of constraints and nine bytes of the time: the tag of the id and its
  // length.
  expect(bytes.splice(13, 2, 15)).toEqual([16, 0]);
  expect(faultInTransactPayload(Uint8Array.from(bytes))).toBe('A transaction body has a transaction_id');
});

it.each([
  ['no events', [], 'events must have at least one event'],
  [
    'more events than the limit',
    Array.from({ length: 1001 }, () => [0x7a, 0]).flat(),
    'A transaction body has at most 1000 events',
  ],
  ['options twice, the first malformed', [0x22, 1, 0xff, 0x22, 0], 'A transaction body has options once'],
])('a payload has a fault when it has %s', (_what, fields, fault) => {
  const bytes = Uint8Array.of(...payloadOf([]), ...fields);
  expect(faultInTransactPayload(bytes)).toContain(fault);
});

it('the record of a transaction in the log is read in place, at any offset', () => {
  fc.assert(
    fc.property(arbPayload, arbName, fc.nat(9), (payload, id, margin) => {
      const entry = encodeTransactPayload(payload);
      const body = entry.subarray(readTransactPayload(entry).body.start);
      const storedIds = [
        { index: 0, id },
        { index: 3, id: `${id}~2.3` },
      ];
      const record = encodeLoggedTransaction({ revision: 2, chainHash: HASH, storedIds, totalEventCount: 9, body });
      const page = concatBytes([new Uint8Array(margin).fill(0xff), record, hex('ff')]);
      const view = readLoggedTransaction(page, margin, margin + record.length);
      expect(view).toMatchObject({ revision: 2, storedIds, totalEventCount: 9 });
      expect(page.subarray(view.chainHashStart, view.chainHashStart + 32)).toEqual(HASH);
      expect(page.subarray(view.body.start, view.body.end)).toEqual(body);
      expect(eventsOf(view.body)).toEqual(payload.events);
    }),
  );
});

it.each([
  ['an unknown field', (bytes: Uint8Array) => concatBytes([bytes, hex('2801')])],
  ['a missing body', (bytes: Uint8Array) => bytes.subarray(0, 38)],
  ['a cut end', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 1)],
  ['nothing', () => new Uint8Array(0)],
])('the record of a transaction in the log is not read when it has %s', (_what, damage) => {
  const entry = payloadOf([]);
  const body = entry.subarray(readTransactPayload(entry).body.start);
  const damaged = damage(
    encodeLoggedTransaction({ revision: 1, chainHash: HASH, storedIds: [], totalEventCount: 1, body }),
  );
  expect(() => readLoggedTransaction(damaged, 0, damaged.length)).toThrow(BrokenInvariant);
});

describe('the options of a transaction', () => {
  it('have the same bytes for any order of the attributes', () => {
    const entries: [string, string][] = [
      ['b', '1'],
      ['\u{1f600}', '2'],
      ['\ufb01', '3'],
      ['a', '4'],
    ];
    const encode = (list: readonly [string, string][]): string =>
      toHex(encodeTransactionOptions({ principalAttributes: new Map(list) }));
    expect(encode(entries)).toBe(encode(entries.toReversed()));
    expect(encode(entries)).toContain(toHex(encodeUtf8('b')));
  });

  const encoded = (options: Partial<TransactionOptions>): Uint8Array =>
    encodeTransactionOptions({ principalAttributes: new Map(), ...options });
  const attributes = (count: number, name: string, value: string): Uint8Array =>
    encoded({ principalAttributes: new Map(Array.from({ length: count }, (_, i) => [`${name}${i || ''}`, value])) });
  it.each<[string, Uint8Array, string]>([
    ['65 attributes', attributes(65, 'k', ''), '.principal_attributes must be at most 64'],
    ['an empty attribute name', attributes(1, '', 'x'), '.principal_attributes[""] must not be empty'],
    ['a long attribute', attributes(1, 'k', 'x'.repeat(4097)), '.principal_attributes["k"] must be at most 4096 bytes'],
    ['a long message', encoded({ commitMessage: 'x'.repeat(65_537) }), '.commit_message must be at most 65536 bytes'],
    ['an empty correlation id', encoded({ correlationId: '' }), '.correlation_id must not be empty'],
    ['a long causation id', encoded({ causationId: 'x'.repeat(256) }), '.causation_id must be at most 255 bytes'],
    ['a revision beyond 2^53 - 1', hex('088080808080808010'), '.last_read_revision must be at most 2^53 - 1'],
    ['half a message', hex('1a05'), ''],
    ['a message that is no UTF-8', hex('1a01ff'), ''],
    ['half an attribute', hex('12020a05'), ''],
    ['half a revision', hex('0880'), ''],
  ])('are rejected for %s', (_what, bytes, expected) => {
    const faults = new Faults();
    expect(decodeTransactionOptions(bytes, 'options', faults)).toBeUndefined();
    expect(textsOf(faults).join()).toContain(`options${expected}`);
  });
});

it.each([
  [1, 0, undefined],
  [1000, 1_000_000, undefined],
  [1001, 5, 'The transaction is too large: 1001 events, at most 1000'],
  [1, 1_000_001, 'The transaction is too large: 1000001 bytes of events, at most 1000000'],
])('the size of a transaction (SPEC-LIMITS-1) of %d events and %d bytes', (count, size, message) => {
  const error = transactionTooLarge(count, size);
  expect([error?.code, error?.message]).toEqual([message === undefined ? undefined : 'too_large', message]);
});
