// Goal: what a decision emits crosses as the record that it is, and a selector of the kit matches as the database does.
// Method: tables.
import { describe, expect, it } from 'vitest';
import { type NewEvent, toRecord } from '../../sdk/component/src/event.ts';
import { type Command, defineStateChange, type StateReader } from '../../sdk/component/src/index.ts';
import { isMatch, type Selector } from '../../sdk/component/src/selector.ts';
import { plainChange } from '../../sdk/component/testing/plain.ts';
import { change, stored } from '../../sdk/component/testing/scenario.ts';

describe('toRecord', () => {
  it('has every attribute in its kind', () => {
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
        ['time', { tag: 'timestamp', val: { seconds: 1_769_848_200n, nanoseconds: 500_000_000 } }],
        ['datacontenttype', { tag: 'string', val: 'application/json' }],
        ['dataschema', { tag: 'uri', val: 'https://bank.example/schema' }],
        ['text', { tag: 'string', val: 'x' }],
        ['flag', { tag: 'boolean', val: true }],
        ['whole', { tag: 'integer', val: -2_147_483_648 }],
      ],
    });
  });

  it('leaves the id and the payload out, and bytes as they are', () => {
    expect(toRecord({ source: 'a', type: 't' })).toMatchObject({ id: '', data: undefined, attributes: [] });
    const data = Uint8Array.of(1, 2);
    expect(toRecord({ source: 'a', type: 't', data })).toMatchObject({ data: { tag: 'binary', val: data } });
  });

  it.each<readonly [string, Partial<NewEvent>, RegExp]>([
    ['a time that is none', { time: 'yesterday' }, /yesterday is none/],
    ['a time before 1970', { time: '1969-12-31T23:59:59Z' }, /before 1970/],
    ['a number that is no integer', { extensions: { x: 0.5 } }, /extension x is 0\.5/],
    ['a number that is too large', { extensions: { x: 2_147_483_648 } }, /integer of 32 bits/],
  ])('refuses %s', (_, more, says) => {
    expect(() => toRecord({ source: 'a', type: 't', ...more })).toThrow(says);
  });
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
