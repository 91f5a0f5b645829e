// Goal: the results of `decide` become events or a refusal, and invalid results are reported. Method: tables of values
// as they leave a guest.
import { describe, expect, it } from 'vitest';
import { eventToJson } from '#model';
import { tagged, type Value } from '#wasm';
import { type Emitted, emittedFrom } from '../../../src/components/emitted-events.ts';

const EVENT = { id: 'e', source: 'a', specversion: '1.0', type: 't', data: undefined, attributes: [] };

function emitted(...events: readonly Value[]): ReturnType<typeof emittedFrom> {
  return emittedFrom(tagged('ok', events), (index) => `minted-${index}`);
}

function shown({ events }: Emitted): readonly unknown[] {
  const server = { revision: 1, index: 0, recordedTimeMs: 0 };
  return events.map((bytes): unknown => JSON.parse(eventToJson(bytes, server)));
}

function jsonOf(result: ReturnType<typeof emittedFrom>): unknown {
  return result.kind === 'events' ? shown(result) : result;
}

function refused(kind: string, val: Value): ReturnType<typeof emittedFrom> {
  return emittedFrom(tagged('err', tagged(kind, val)), String);
}

describe('emitted events', () => {
  it('have all attributes of an event, with their types', () => {
    const attributes = [
      ['subject', tagged('string', 's')],
      ['time', tagged('timestamp', { seconds: 1_700_000_000n, nanoseconds: 5 })],
      ['datacontenttype', tagged('string', 'application/json')],
      ['dataschema', tagged('uri', 'https://x.example/s')],
      ['yes', tagged('boolean', true)],
      ['number', tagged('integer', -3)],
      ['bytes', tagged('binary', Uint8Array.of(255))],
      ['ref', tagged('uri-ref', '/a')],
      ['when', tagged('timestamp', { seconds: 0n, nanoseconds: 0 })],
    ];
    expect(jsonOf(emitted({ ...EVENT, data: tagged('string', '{"a":1e99}'), attributes }))).toEqual([
      {
        id: 'e',
        source: 'a',
        specversion: '1.0',
        type: 't',
        subject: 's',
        time: '2023-11-14T22:13:20.000000005Z',
        datacontenttype: 'application/json',
        dataschema: 'https://x.example/s',
        yes: true,
        number: -3,
        bytes: '/w==',
        ref: '/a',
        when: '1970-01-01T00:00:00Z',
        revision: 1,
        index: 0,
        recordedtime: '1970-01-01T00:00:00Z',
        data: { a: 1e99 },
      },
    ]);
  });

  it('get an id when they have none, and may have bytes or no payload', () => {
    const found = jsonOf(emitted({ ...EVENT, id: '' }, EVENT, { ...EVENT, id: '' }));
    expect(found).toMatchObject([{ id: 'minted-0' }, { id: 'e' }, { id: 'minted-2' }]);
    const bytes = tagged('binary', Uint8Array.of(1));
    expect(jsonOf(emitted({ ...EVENT, data: bytes }))).toMatchObject([{ data_base64: 'AQ==' }]);
    expect(jsonOf(emitted())).toEqual([]);
  });

  it.each<readonly [string, Value, RegExp]>([
    ['an event without a type', { ...EVENT, type: '' }, /events\[0\]\.type is required/],
    ['an event without a source', { ...EVENT, source: '' }, /events\[0\]\.source/],
    ['an attribute that is no name', { ...EVENT, attributes: [['A b', tagged('string', '')]] }, /events\[0\]/],
    [
      'a subject that is a number',
      { ...EVENT, attributes: [['subject', tagged('integer', 1)]] },
      /subject must be of type string/,
    ],
    [
      'an attribute twice',
      {
        ...EVENT,
        attributes: [
          ['x', tagged('integer', 1)],
          ['x', tagged('integer', 2)],
        ],
      },
      /attribute "x" once/,
    ],
    [
      'a time behind all times',
      { ...EVENT, attributes: [['time', tagged('timestamp', { seconds: 2n ** 63n, nanoseconds: 0 })]] },
      /attribute "time" that is a value/,
    ],
    [
      'nanoseconds beyond a second',
      { ...EVENT, attributes: [['time', tagged('timestamp', { seconds: 0n, nanoseconds: 1e9 })]] },
      /attribute "time" that is a value/,
    ],
    ['a float as attribute', { ...EVENT, attributes: [['x', tagged('float', 1)]] }, /attribute "x" that is a value/],
    ['a record of another type', { id: 'x' }, /events\[0\] must be a record cloudevent/],
    ['no record', 'event', /events\[0\] must be a record cloudevent/],
    ['data of another type', { ...EVENT, data: tagged('string', 5) }, /events\[0\] must be a record cloudevent/],
  ])('are not %s', (_, event, says) => {
    expect(emitted(event)).toEqual({ kind: 'failed', code: 'ValidationError', message: expect.stringMatching(says) });
  });

  it('are checked as a whole', () => {
    const wrong = emitted(EVENT, { ...EVENT, type: '' }, { ...EVENT, source: '' });
    expect(wrong).toMatchObject({ message: expect.stringMatching(/events\[1\]\.type .* \(and 1 more\)$/) });
    const many = emitted(...Array.from({ length: 1001 }, () => EVENT));
    expect(many).toMatchObject({ code: 'ValidationError', message: expect.stringMatching(/1001/) });
  });

  it.each<readonly [string, Value]>([
    ['no result', 5],
    ['a result of another name', tagged('yes', [])],
    ['a record', tagged('ok', { events: [] })],
    ['an error of another name', tagged('err', tagged('unauthorized', { message: '' }))],
    ['an error without a message', tagged('err', tagged('internal-error', {}))],
    ['a text', tagged('err', tagged('internal-error', 'text'))],
    ['a code of another type', tagged('err', tagged('internal-error', { message: '', code: 5 }))],
  ])('cannot be %s', (_, answer) => {
    const message = expect.stringContaining('as cairn.wit does not have it');
    expect(emittedFrom(answer, String)).toMatchObject({ code: 'WasmExecutionError', message });
  });
});

it.each([
  ['validation-failed', 'ValidationFailed'],
  ['unknown-command', 'UnknownCommand'],
  ['invalid-input', 'InvalidInput'],
  ['state-not-found', 'StateNotFound'],
  ['internal-error', 'InternalError'],
])('a refusal is %s', (kind, code) => {
  const refusal = { kind: 'refused', code, message: 'm', reason: undefined, details: undefined };
  expect(refused(kind, { message: 'm', code: undefined, details: undefined })).toEqual(refusal);
  const more = { message: 'm', code: 'overdrawn', details: '{"a":[1]}' };
  expect(refused(kind, more)).toEqual({ ...refusal, reason: 'overdrawn', details: '{"a":[1]}' });
});

it('a refusal has details that are JSON', () => {
  const refusal = refused('internal-error', { message: 'why', details: '{a:1}' });
  expect(refusal).toMatchObject({ code: 'WasmExecutionError', message: expect.stringMatching(/no JSON: why$/) });
});
