// Goal: what a decision emits crosses as the record that it is, and a selector of the kit matches as the database does.
// Method: tables.
import { describe, expect, it } from 'vitest';
import { eventToJson } from '#model';
import { tagged, type Value } from '#wasm';
import { InvalidEvent, type NewEvent, toRecord } from '../../sdk/component/src/event.ts';
import { type Command, defineStateChange, type Json, type StateReader } from '../../sdk/component/src/index.ts';
import { isMatch, type Selector } from '../../sdk/component/src/selector.ts';
import { plainChange } from '../../sdk/component/testing/plain.ts';
import { change, stored } from '../../sdk/component/testing/scenario.ts';
import { emittedFrom } from '../../src/components/emitted-events.ts';

it('toRecord has every attribute in its kind', () => {
  const event: NewEvent = {
    id: 'one',
    source: 'https://bank.example/accounts',
    type: 't',
    subject: 's',
    time: '2026-01-31T09:30:00.5+01:00',
    dataschema: 'https://bank.example/schema',
    data: { a: 1 },
    extensions: { text: 'x', flag: true, whole: -2_147_483_648 },
  };
  expect(toRecord(event)).toEqual({
    id: 'one',
    source: 'https://bank.example/accounts',
    specversion: '1.0',
    type: 't',
    data: { tag: 'string', val: '{"a":1}' },
    attributes: [
      ['subject', { tag: 'string', val: 's' }],
      ['time', { tag: 'string', val: '2026-01-31T09:30:00.5+01:00' }],
      ['datacontenttype', { tag: 'string', val: 'application/json' }],
      ['dataschema', { tag: 'uri', val: 'https://bank.example/schema' }],
      ['text', { tag: 'string', val: 'x' }],
      ['flag', { tag: 'boolean', val: true }],
      ['whole', { tag: 'integer', val: -2_147_483_648 }],
    ],
  });
});

it('toRecord leaves the id and the payload out, and bytes as they are', () => {
  expect(toRecord({ source: 'a', type: 't' })).toMatchObject({ id: '', data: undefined, attributes: [] });
  const data = Uint8Array.of(1, 2);
  expect(toRecord({ source: 'a', type: 't', data })).toMatchObject({ data: { tag: 'binary', val: data } });
});

it.each<readonly [string, Readonly<Record<string, unknown>>]>([
  ['events[3].source is required', { source: undefined }],
  ['events[3].type is required', { type: undefined }],
  ['events[3].type must be a string, not number', { type: 5 }],
  ['events[3].id must be a string, not null', { id: null }],
  ['events[3].subject must be a string, not null', { subject: null }],
  ['events[3].subject must not contain an unpaired surrogate', { subject: 'a\ud800' }],
  ['events[3].time must be a string, not object', { time: new Date(0) }],
  ['events[3].x must not contain an unpaired surrogate', { extensions: { x: '\udc00b' } }],
  ['events[3].x must be a string, true, false, or an integer of 32 bits, not 0.5', { extensions: { x: 0.5 } }],
  ['events[3].tenant is unknown; an attribute of your own is a member of extensions', { tenant: 'a' }],
  ['events[3].data must have JSON: A function has no JSON; give an object, a list, a text or null', { data: isNaN }],
  [
    'events[3].x must be a string, true, false, or an integer of 32 bits, not 2147483648',
    { extensions: { x: 2_147_483_648 } },
  ],
  ['events[3].x must be a string, true, false, or an integer of 32 bits, not null', { extensions: { x: null } }],
])('toRecord answers that %s', (says, more) => {
  const event = { source: 'a', type: 't', ...more } as unknown as NewEvent;
  expect(() => toRecord(event, 3)).toThrow(new InvalidEvent(says));
});

describe('an event that a decision emits', () => {
  const routes = {
    'POST /': (command: Command) => [{ source: 'a', type: 't' }, command.json<NewEvent>()],
    'POST /promise': () => Promise.resolve([]) as unknown as readonly NewEvent[],
    'POST /hole': () => {
      const events: NewEvent[] = [];
      events.length = 1;
      return events;
    },
  };
  const asked = (event: Json): ReturnType<ReturnType<ReturnType<typeof change>['given']>['when']> =>
    change(plainChange(defineStateChange({ routes })))
      .given({})
      .when({ method: 'POST', path: '/' }, event);

  it('is named in the refusal when it is none', async () => {
    const message = /^The component emits an invalid event: events\[1\]\.source is required$/;
    await asked({ type: 't' }).thenRefuses('validation-failed', { message, code: 'ValidationError' });
  });

  it.each([
    ['/promise', /events must be a list$/],
    ['/hole', /events\[0\] must be an object$/],
  ])('is refused where it is none at all: %s', async (path, message) => {
    const answered = change(plainChange(defineStateChange({ routes })))
      .given({})
      .when({ method: 'POST', path }, {});
    await answered.thenRefuses('validation-failed', { message, code: 'ValidationError' });
  });

  it.each(['1965-03-01T00:00:00Z', '2016-12-31T23:59:60Z', '2026-01-31T09:00:00+01:00', '2026-01-31T09:00:00.100Z'])(
    'is stored with the time %s as it is spelled',
    (time) => {
      expect(emittedWith(time)).toMatchObject({ time });
    },
  );

  it.each(['2026-02-30T00:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T23:59:60Z', 'yesterday'])(
    'is refused as over HTTP with the time %s',
    (time) => {
      expect(emittedWith(time)).toMatch(/: events\[0\]\.time .* RFC 3339/);
    },
  );

  /** Of the stored event, or what it is refused with. */
  function emittedWith(time: string): unknown {
    const records = [toRecord({ source: 'a', type: 't', time })] as unknown as Value;
    const result = emittedFrom(tagged('ok', records), () => 'e');
    if (result.kind !== 'events') return result.message;
    const [bytes = new Uint8Array()] = result.events;
    const event: unknown = JSON.parse(eventToJson(bytes, { revision: 1, index: 0, recordedTimeMs: 0 }));
    return event;
  }
});

describe('isMatch', () => {
  const [event] = stored({ source: 'https://bank.example/a/accounts/?x=/y', type: 't', subject: 's' });
  if (event === undefined) throw new Error('Nothing was stored');

  it.each<readonly [boolean, Selector]>([
    [true, {}],
    [true, { stream: 'accounts', event_type: 't', subject: 's' }],
    [false, { stream: 'accounts', event_type: 't', subject: 'other' }],
    [false, { stream: 'a' }],
    [true, { source: event.source }],
    [false, { source: 'accounts' }],
    [true, { or: [{ subject: 'other' }, { and: [{ subject: 's' }, { event_type: 't' }] }] }],
    [false, { and: [{ subject: 's' }, { event_type: 'u' }] }],
  ])('is %s for %j', (expected, selector) => {
    expect(isMatch(selector, event)).toBe(expected);
  });
});

describe('a limit of events', () => {
  const routes = {
    'POST /': (command: Command, reader: StateReader) => {
      reader.events({ subject: 'a' }, command.json<{ readonly limit: number }>().limit);
      return [];
    },
  };
  it.each([0, 2 ** 31 - 1, -1, 1.5, 2 ** 31])('is an integer that does not cross as another one: %d', async (limit) => {
    const asked = change(plainChange(defineStateChange({ routes })))
      .given({})
      .when({ method: 'POST', path: '/' }, { limit });
    if (Number.isInteger(limit) && limit >= 0 && limit < 2 ** 31) return asked.thenEmits([]);
    const message = new RegExp(`^The limit is ${limit}; it must be an integer from 0 to 2147483647$`);
    return asked.thenRefuses('internal-error', { message });
  });
});

describe('a parameter of a State View', () => {
  const routes = {
    'POST /': (command: Command, reader: StateReader) => {
      reader.stateView('balances', command.json<Readonly<Record<string, string>>>());
      return [];
    },
  };
  const given = change(plainChange(defineStateChange({ routes }))).given({ views: { balances: {} } });
  const ask = (parameters: Readonly<Record<string, string>>): ReturnType<typeof given.when> =>
    given.when({ method: 'POST', path: '/' }, parameters);

  it('crosses as it is', () => ask({ 'subject.account': 'a\u{1f600}' }).thenEmits([]));

  it.each([{ 'subject.account': 'a\ud800' }, { 'subject.account\udc00': 'a' }])(
    'is refused with an unpaired surrogate, which would cross as another character: %j',
    (parameters) => {
      const message = /^The parameter "subject\.account.*" of balances must not contain an unpaired surrogate$/;
      return ask(parameters).thenRefuses('internal-error', { message });
    },
  );
});
