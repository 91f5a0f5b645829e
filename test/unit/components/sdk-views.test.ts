// Goal: a State View with the SDK's interfaces receives each part of an event as it was written, and its faults are
// reported (F5, F6, F7, F50, G20). Method: a component that hashes its input in real executors, compared with a hash in
// a loop.
import { afterAll, describe, expect, it } from 'vitest';
import { formatInstant, instantFromMs } from '#base';
import { DEFAULT_STATE_VIEWS, type RunnableArtifact, type ViewAnswer, type ViewTitle } from '#components';
import { DATA_KIND } from '#model';
import { databaseOf, readOf, ViewWorld } from '../../support/components/view-world.ts';
import { textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase, type KnownEvent } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import {
  type NaiveAttribute,
  type NaiveEvent,
  naiveInstant,
  naiveSdkState,
  sdkViewText,
  toldTo,
} from '../../support/wasm/sdk-shaped.ts';

const world = new ViewWorld();
afterAll(() => world[Symbol.asyncDispose]());

const TYPE = 'application/x-count';
const TITLE: ViewTitle = { database: 'shop', name: 'orders', version: 3, contentType: TYPE, contentSchema: undefined };
const TOLD = toldTo('shop', 'orders', TYPE);

function artifactOf(text: string = sdkViewText()): Promise<RunnableArtifact> {
  return textArtifact(world.artifacts, 'state-view', text);
}

/** Transactions of one to three plain events. */
function database(count: number): Promise<KnownDatabase> {
  return databaseOf(count, (n) =>
    Array.from({ length: 1 + (n % 3) }, (_, index) => ({ source: `a/${index}`, type: 't', subject: 's' })),
  );
}

const text = (name: string, value: string): NaiveAttribute => ({ name, kind: 'string', value });

/** The events in the SDK's record, numbered consecutively. */
function naive(
  events: readonly KnownEvent[],
  own: (event: KnownEvent) => Pick<NaiveEvent, 'data' | 'attributes'>,
): readonly NaiveEvent[] {
  return events.map((known, index) => {
    const { event, stored } = known;
    const { data, attributes } = own(known);
    const ordinal = String(index + 1);
    const added = [
      text('revision', ordinal),
      text('sequence', ordinal.length === 1 ? `;${ordinal}` : `;;2${ordinal}`),
      text('recordedtime', formatInstant(instantFromMs(stored.recordedTimeMs))),
    ];
    const { source, type } = event;
    return { id: stored.storedId ?? event.id, source, type, data, attributes: [...attributes, ...added] };
  });
}

function bytesIn(answer: ViewAnswer): Buffer {
  if (answer.kind === 'failed') throw new Error(answer.message);
  return Buffer.from(answer.bytes);
}

function renderedState(events: readonly NaiveEvent[]): Buffer {
  return Buffer.concat([naiveSdkState(events), Buffer.from(TOLD)]);
}

const PAYLOADS: readonly (readonly [string, EventSketch, Partial<NaiveEvent>])[] = [
  ['no payload', {} as EventSketch, { attributes: [] }],
  ['JSON as it was', sketch('{"n":12345678901234567890.0}', DATA_KIND.JSON), asText('{"n":12345678901234567890.0}')],
  ['text', sketch('é', DATA_KIND.TEXT), asText('é')],
  ['bytes', sketch('{}', DATA_KIND.BINARY), { data: { kind: 'binary', value: '{}' } }],
  ['empty bytes', sketch('', DATA_KIND.BINARY), { data: { kind: 'binary', value: '' } }],
  [
    'what its content type says to be JSON',
    { ...sketch('[1]', DATA_KIND.UNSPECIFIED), dataContentType: 'application/json' },
    { ...asText('[1]'), attributes: [text('datacontenttype', 'application/json')] },
  ],
  [
    'attributes of every kind',
    {
      ...sketch('', DATA_KIND.UNSPECIFIED),
      subject: 'é',
      time: { instant: { seconds: 1_700_000_000, nanos: 5 } },
      dataSchema: 'https://a.example/s',
      extensions: new Map([
        ['b', { kind: 'boolean', value: true }],
        ['i', { kind: 'integer', value: -2 }],
        ['o', { kind: 'bytes', value: Uint8Array.of(0, 255) }],
        ['r', { kind: 'uri-ref', value: './x' }],
        ['t', { kind: 'timestamp', value: { seconds: 1, nanos: 2 } }],
      ]),
    },
    {
      attributes: [
        text('subject', 'é'),
        { name: 'time', kind: 'timestamp', value: naiveInstant(1_700_000_000, 5) },
        { name: 'dataschema', kind: 'uri', value: 'https://a.example/s' },
        { name: 'b', kind: 'boolean', value: Uint8Array.of(1) },
        { name: 'i', kind: 'integer', value: Uint8Array.of(254, 255, 255, 255) },
        { name: 'o', kind: 'binary', value: Uint8Array.of(0, 255) },
        { name: 'r', kind: 'uri-ref', value: './x' },
        { name: 't', kind: 'timestamp', value: naiveInstant(1, 2) },
      ],
    },
  ],
  [
    'a time that the shape has no number for',
    { ...sketch('', DATA_KIND.UNSPECIFIED), time: { instant: { seconds: -1, nanos: 0 } } },
    { attributes: [text('time', '1969-12-31T23:59:59Z')] },
  ],
];

function sketch(data: string, dataKind: number): EventSketch {
  return { source: 'a', type: 't', data: Buffer.from(data), dataKind };
}

function asText(value: string): Partial<NaiveEvent> {
  return { data: { kind: 'string', value } };
}

describe('a State View with the interfaces of the SDK', { timeout: 60_000 }, () => {
  it.each(PAYLOADS)('receives an event with %s', async (_, given, expected) => {
    const known = new KnownDatabase(memoryKv());
    known.apply([{ ...given, source: 'a', type: 't' }], CREATED_AT_MS);
    await known.flush();
    const answer = await (await world.views()).render(readOf(known, await artifactOf(), { title: TITLE }));
    const events = naive(known.events, () => ({ data: undefined, attributes: [], ...expected }));
    expect(bytesIn(answer)).toEqual(renderedState(events));
  });

  it.each([
    ['traps', 'unreachable', /^Trap: .* \(the event "[^"]+" of type "[^"]+" at revision \d+\)$/],
    ['never ends', '(loop $l (br $l)) (i32.const 16)', /^FuelExhausted: /],
    ['returns a pointer outside its memory', '(i32.const 33554430)', /^AbiViolation: /],
    ['returns an unknown case', '(i32.store8 (i32.const 16) (i32.const 2)) (i32.const 16)', /^AbiViolation: /],
    [
      'returns more bytes than its memory has',
      `(i32.store8 (i32.const 16) (i32.const 1)) (i32.store (i32.const 20) (i32.const 0))
       (i32.store (i32.const 24) (i32.const 33554432)) (i32.const 16)`,
      /^OutputTooLarge: /,
    ],
  ])('that %s fails with a message', async (_, evolve, says) => {
    const known = await database(2);
    const { guest } = DEFAULT_STATE_VIEWS;
    const own = await world.views({ guest: { ...guest, limits: { ...guest.limits, fuel: 1_000_000 } } });
    // The trial call at publishing has a state, for which the component returns none, so that it is published.
    const later = `(if (i32.load8_u offset=72 (local.get $p))
      (then (i32.store8 (i32.const 16) (i32.const 0)) (return (i32.const 16)))) ${evolve}`;
    const rendered = await own.render(readOf(known, await artifactOf(sdkViewText(later)), { title: TITLE }));
    const message = expect.stringMatching(says);
    expect(rendered).toMatchObject({ kind: 'failed', code: 'WasmExecutionError', message });
  });
});
