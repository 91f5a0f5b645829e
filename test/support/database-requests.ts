/**
 * Random transactions over few streams, types, subjects and ids, so that they often overlap, with every kind of
 * constraint and selector.
 */
import * as fc from 'fast-check';
import { encodeUtf8 } from '#base';
import {
  and,
  type Constraint,
  encodeTransactPayload,
  NO_OPTIONS,
  NO_SUBJECT,
  ORIGIN,
  or,
  type Selector,
  stampPayload,
  term,
} from '#model';
import { CREATED_AT_MS } from './database-host.ts';
import type { OracleEvent, OracleRequest } from './database-oracle.ts';
import { eventBytes } from './events.ts';

const SOURCES = [
  { source: 'orders', stream: 'orders' },
  { source: '/db/a/streams/orders', stream: 'orders' },
  { source: 'https://x.example/streams/carts/', stream: 'carts' },
  { source: 'carts', stream: 'carts' },
  { source: 'orders-2', stream: 'orders-2' },
] as const;
const TYPES = ['order.placed', 'order.paid', 'order', 'cart.filled'] as const;
const SUBJECTS = ['s', 's-1', 's-12', 't', 'ü', undefined] as const;
const PREFIXES = ['', 'o', 'order', 'orders', 's', 's-1', 'ca', 'nothing', 'ü'] as const;
const IDS = ['a', 'b', 'c', 'a~2.0', 'a~3.1', 'b~2.1', 'e-1', 'e-2', 'e-3', 'e-4'] as const;
const TRANSACTION_IDS = 60;

const time = fc.option(
  fc.record({
    seconds: fc.constantFrom(-1, 0, 1_700_000_000, 1_700_000_001, 253_402_300_799),
    nanos: fc.constantFrom(0, 1, 500_000_000, 999_999_999),
  }),
  { nil: undefined },
);

/** `variety` numbered streams, types and subjects are added to the usual few. */
function arbEvent(variety: number): fc.Arbitrary<OracleEvent> {
  const numbered = fc.nat(Math.max(0, variety - 1));
  const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    variety === 0 ? usual : fc.oneof({ weight: 1, arbitrary: usual }, { weight: 1, arbitrary: rare });
  const place = often<{ source: string; stream: string }>(
    fc.constantFrom(...SOURCES),
    numbered.map((n) => ({ source: `/n/${n}/streams/orders`, stream: 'orders' })),
  );
  const type = often<string>(
    fc.constantFrom(...TYPES),
    numbered.map((n) => `type-${n}`),
  );
  const id = fc.oneof(
    fc.constantFrom(...IDS),
    fc.nat(5000).map((n) => `id-${n}`),
  );
  const subject = fc.constantFrom(...SUBJECTS);
  return fc.record({ place, type, id, subject, time }).map(({ place: where, ...rest }) => ({ ...rest, ...where }));
}

const selectorTerm: fc.Arbitrary<Selector> = fc.oneof(
  fc.constantFrom(...SOURCES.map(({ stream }) => stream), 'none').map((value) => term('by-stream', value)),
  fc
    .constantFrom(...SOURCES.map(({ source }) => source), '/n/1/streams/orders')
    .map((value) => term('by-source', value)),
  fc.constantFrom(...TYPES, 'type-1', 'type-30', 'none').map((value) => term('by-type', value)),
  fc.constantFrom('s', 's-1', 't', 'ü', 'none').map((value) => term('by-subject', value)),
  fc.constant(NO_SUBJECT),
  fc
    .record({
      kind: fc.constantFrom('by-stream-prefix' as const, 'by-type-prefix' as const, 'by-subject-prefix' as const),
      value: fc.constantFrom(...PREFIXES),
    })
    .map(({ kind, value }) => term(kind, value)),
);

export const arbSelector: fc.Arbitrary<Selector> = fc.letrec<{ selector: Selector }>((tie) => ({
  selector: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: selectorTerm },
    { weight: 2, arbitrary: fc.array(tie('selector'), { maxLength: 3 }).map((parts) => and(parts)) },
    { weight: 2, arbitrary: fc.array(tie('selector'), { minLength: 1, maxLength: 3 }).map((parts) => or(parts)) },
  ),
})).selector;

/** Every combination of values of the attributes, where each is one of its usual values or absent. */
export function everyConjunction(): readonly Selector[] {
  const streams = [undefined, 'orders', 'carts'].map((value) => value && term('by-stream', value));
  const sources = [undefined, 'orders', '/n/1/streams/orders'].map((value) => value && term('by-source', value));
  const types = [undefined, 'order', 'type-1', 'order.paid'].map((value) => value && term('by-type', value));
  const subjects = [undefined, NO_SUBJECT, term('by-subject', 's-1'), term('by-subject', 'ü')];
  const found: Selector[] = [];
  for (const stream of streams) {
    for (const source of sources) {
      for (const type of types) {
        for (const subject of subjects)
          found.push(and([stream, source, type, subject].filter((part) => part !== undefined && part !== '')));
      }
    }
  }
  return found;
}

const revision = fc.oneof(fc.nat(3), fc.nat(30));

const arbConstraint: fc.Arbitrary<Constraint> = fc
  .record({
    kind: fc.constantFrom('min-revision', 'max-revision', 'revision-range'),
    selector: fc.option(arbSelector, { nil: undefined, freq: 6 }),
    first: revision,
    second: revision,
  })
  .map(({ kind, selector, first, second }): Constraint => {
    if (kind === 'revision-range') {
      return { kind: 'revision-range', start: Math.min(first, second), end: Math.max(first, second), selector };
    }
    return { kind: kind === 'min-revision' ? 'min-revision' : 'max-revision', revision: first, selector };
  });

export interface RequestShape {
  readonly variety: number;
  readonly eventsMax: number;
}

/** The recorded time comes from `stampMs`, because it grows during the run. */
export function arbRequest({ variety, eventsMax }: RequestShape): fc.Arbitrary<Omit<OracleRequest, 'stampedMs'>> {
  return fc.record({
    transactionId: fc.nat(TRANSACTION_IDS).map((n) => n.toString(16).padStart(32, '0')),
    events: fc.array(arbEvent(variety), { minLength: 1, maxLength: eventsMax, size: 'max' }),
    constraints: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(arbConstraint, { minLength: 1, maxLength: 3 }) },
    ),
  });
}

/** A leader's clock that sometimes goes back. */
export function stampMs(step: number, jitter: number): number {
  return CREATED_AT_MS + step * 700 + jitter;
}

/** Payload of a request; half of the transaction ids also keep a refusal for later lookups. */
export function payloadOf(request: OracleRequest, data: Uint8Array = encodeUtf8('{}')): Uint8Array {
  const payload = encodeTransactPayload({
    transactionId: Uint8Array.from(request.transactionId.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
    origin: ORIGIN.HTTP_TRANSACTION,
    options: NO_OPTIONS,
    constraints: request.constraints,
    keepsRefusal: /[02468ace]$/.test(request.transactionId),
    events: request.events.map(({ id, type, source, subject, time: at }) =>
      eventBytes({ id, type, source, subject, data, ...(at && { time: { instant: at } }) }),
    ),
  });
  stampPayload(payload, request.stampedMs);
  return payload;
}

let transactions = 0;

/** A transaction with a unique id, stamped a millisecond after the previous one. */
export function transactionOf(
  events: readonly OracleEvent[],
  constraints: readonly Constraint[] = [],
  data?: Uint8Array,
): Uint8Array {
  transactions += 1;
  const transactionId = transactions.toString(16).padStart(32, '0');
  return payloadOf({ transactionId, stampedMs: CREATED_AT_MS + transactions, events, constraints }, data);
}
