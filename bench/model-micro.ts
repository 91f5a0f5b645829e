/**
 * Measures the time of the model layer per event on one thread: the front's work for each event of a write, and for
 * each event that it shows. Run it alone.
 *
 *   node --conditions=source bench/model-micro.ts [--seconds 1] [--rounds 5]
 *
 * It prints the median, lowest and highest round, in nanoseconds per event.
 */
import { parseArgs } from 'node:util';
import { encodeUtf8, type Instant } from '#base';
import {
  acceptEvent,
  acceptJsonEvent,
  and,
  DATA_KIND,
  decodeConstraint,
  type Event,
  EventJsonBytes,
  encodeEvent,
  encodeTransactPayload,
  eventFacts,
  eventToJson,
  Faults,
  matcherOf,
  NO_OPTIONS,
  normalise,
  parseJson,
  RAW_DATA,
  storedMatcherOf,
  term,
  walkEvent,
} from '#model';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, rounds: { type: 'string', default: '5' } },
});
const roundMs = (Number(values.seconds) * 1000) / Number(values.rounds);
const roundCount = Number(values.rounds);

const TIME: Instant = { seconds: 1_767_225_600, nanos: 123_000_000 };

/** A typical event of 256 bytes in canonical form. */
function event(extra: Partial<Event> = {}): Event {
  return {
    id: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
    specVersion: '1.0',
    type: 'com.example.order.placed',
    source: '/db/shop/streams/orders',
    subject: 'order-0000012345',
    time: { instant: TIME },
    data: encodeUtf8(`{"customer":"c-1234","total":"129.90","lines":[{"sku":"a","n":1}],"note":"${'x'.repeat(25)}"}`),
    dataKind: DATA_KIND.JSON,
    dataContentType: 'application/json',
    extensions: new Map(),
    ...extra,
  };
}

const plain = encodeEvent(event());
const extended = encodeEvent(
  event({
    extensions: new Map([
      ['traceparent', { kind: 'string', value: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }],
      ['sequence', { kind: 'integer', value: 42 }],
    ]),
  }),
);
// The same event with the id as its last field: valid, but not canonical.
const shuffled = Uint8Array.from([...plain.subarray(38), ...plain.subarray(0, 38)]);
const server = { revision: 123_456, index: 0, recordedTimeMs: 1_767_225_600_123 };
const json = encodeUtf8(eventToJson(plain, server).replace(/,"revision":\d+,"index":\d+,"recordedtime":"[^"]*"/, ''));
const thousand = Array.from({ length: 1000 }, () => plain);
const transactionId = new Uint8Array(16);

/** max_revision { selector { subject: "order-0000012345" } } */
const constraint = Uint8Array.from([0x12, 0x14, 0x12, 0x12, 0x1a, 0x10, ...encodeUtf8('order-0000012345')]);

const place = { faults: new Faults(), list: 'events', index: 0 };
const facts = eventFacts(plain, 0, plain.length);
const three = and([term('by-stream', 'orders'), term('by-type-prefix', 'com.example.'), term('by-subject', 'x')]);
const matches = matcherOf(three);
const matchesStored = storedMatcherOf(three);

/**
 * Each case returns a part of its result, so that the compiler cannot remove the work. `events` is the number of events
 * that one call handles.
 */
const CASES: readonly { readonly name: string; readonly events: number; readonly run: () => number }[] = [
  { name: `walkEvent, ${plain.length} bytes`, events: 1, run: () => sizeOf(walkEvent(plain, 0, plain.length, place)) },
  {
    name: `walkEvent, ${extended.length} bytes with 2 extensions`,
    events: 1,
    run: () => sizeOf(walkEvent(extended, 0, extended.length, place)),
  },
  {
    name: 'acceptEvent of another field order',
    events: 1,
    run: () => acceptEvent(shuffled, 0, shuffled.length, place)?.length ?? fail(),
  },
  { name: 'eventFacts', events: 1, run: () => eventFacts(plain, 0, plain.length).subjectEnd },
  {
    name: 'eventFacts and a matcher of three terms',
    events: 1,
    run: () => (matches(plain, eventFacts(plain, 0, plain.length)) ? 1 : 0),
  },
  {
    name: 'a matcher of three terms, of stored events',
    events: 1,
    run: () => (matchesStored(plain, 0, plain.length) ? 1 : 0),
  },
  { name: 'a matcher of three terms', events: 1, run: () => (matches(plain, facts) ? 1 : 0) },
  { name: 'eventToJson', events: 1, run: () => eventToJson(plain, server).length },
  { name: 'eventToJson, and its bytes', events: 1, run: () => encodeUtf8(eventToJson(plain, server)).length },
  { name: 'EventJsonBytes of 1,000 events', events: 1000, run: inBytes },
  { name: `parseJson and acceptJsonEvent, ${json.length} bytes`, events: 1, run: fromJson },
  { name: 'decodeConstraint and normalise, of one subject', events: 1, run: ofConstraint },
  {
    name: 'encodeTransactPayload of 1,000 events',
    events: 1000,
    run: () =>
      encodeTransactPayload({ transactionId, origin: 3, options: NO_OPTIONS, constraints: [], events: thousand })
        .length,
  },
];

function inBytes(): number {
  const written = new EventJsonBytes(2 ** 18);
  for (const each of thousand) written.append(each, 0, each.length, server);
  return written.take().length;
}

function fromJson(): number {
  const node = parseJson(json, { raw: RAW_DATA });
  return node.kind === 'fault' ? fail() : (acceptJsonEvent(node, place)?.length ?? fail());
}

function ofConstraint(): number {
  const read = decodeConstraint(constraint, 'constraints[0]', place.faults);
  return read?.selector === undefined ? fail() : normalise(read.selector).length;
}

function sizeOf(walked: ReturnType<typeof walkEvent>): number {
  return walked === undefined || walked === 'not-canonical' ? fail() : walked.idEnd;
}

function fail(): never {
  throw new Error(`The benchmark's event is refused: ${JSON.stringify(place.faults.violations)}`);
}

/** Nanoseconds per event, one figure per round. */
function measure(run: () => number, events: number): readonly number[] {
  let kept = 0;
  const roundNs = (): number => {
    const startMs = performance.now();
    let count = 0;
    let elapsedMs = 0;
    while (elapsedMs < roundMs) {
      for (let i = 0; i < 200; i++) kept += run();
      count += 200;
      elapsedMs = performance.now() - startMs;
    }
    return (elapsedMs * 1e6) / (count * events);
  };
  roundNs();
  const rounds = Array.from({ length: roundCount }, roundNs);
  if (!Number.isFinite(kept)) throw new Error('The benchmark did not run');
  return rounds.toSorted((left, right) => left - right);
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
print('| work | ns an event (median) | lowest | highest |');
print('|---|---|---|---|');
for (const { name, events, run } of CASES) {
  const rounds = measure(run, events);
  const median = rounds[Math.floor(rounds.length / 2)] ?? 0;
  print(`| ${name} | ${median.toFixed(0)} | ${(rounds[0] ?? 0).toFixed(0)} | ${(rounds.at(-1) ?? 0).toFixed(0)} |`);
}
