// Goal: names follow their grammar, and faults are collected and shortened. Method: tables.
import { describe, expect, it } from 'vitest';
import {
  Faults,
  isJsonType,
  isTextType,
  parseComponentName,
  parseDatabaseName,
  parseName,
  parseNamePrefix,
  parseTransactionId,
} from '#model';

/** The maximum length, and a byte more. */
const [LONGEST, LONGER] = ['a'.repeat(255), 'a'.repeat(256)] as const;
const ID = '0199a5c8-3c1e-4a2b-8f00-0123456789ab';

describe.each<[string, (text: string, field: string, faults: Faults) => string | undefined, string[], string[]]>([
  [
    'database name',
    parseDatabaseName,
    ['a', '0', 'shop', 'a-b', 'a--b', '1a', 'a'.repeat(63)],
    ['', '-', '-a', 'a-', 'A', 'shop_1', 'a.b', 'a b', 'é', 'a'.repeat(64), 'a\n', 'a/b'],
  ],
  [
    'component name',
    parseComponentName,
    ['a', 'Z9', 'open-orders', 'a.b_c', `a${'b'.repeat(127)}`],
    ['', '1a', '-a', '_a', 'a b', 'é', 'a/b', `a${'b'.repeat(128)}`],
  ],
  [
    'stream, event type or subject',
    parseName,
    ['a', 'é', ' a ', LONGEST],
    ['', ' ', 'a\u0000', 'a\u009f', '\ud800', LONGER],
  ],
  ['prefix of names', parseNamePrefix, ['', ' ', 'a', 'order.', 'é'.repeat(127)], ['a\0', '\u0080', '\ud800', LONGER]],
  ['transaction id', parseTransactionId, [ID], ['', 'abc', ID.slice(1), `{${ID}}`]],
])('a %s (M2)', (_what, parse, good, bad) => {
  it.each(good)('may be %j', (text) => {
    const faults = new Faults();
    expect([parse(text, 'name', faults), faults.none]).toEqual([text, true]);
  });

  it.each(bad)('must not be %j', (text) => {
    const faults = new Faults();
    expect(parse(text, 'name', faults)).toBeUndefined();
    expect(faults.violations).toMatchObject([{ field: 'name', description: expect.stringMatching(/^must /) }]);
  });
});

it('a transaction id is read in lowercase', () => {
  expect(parseTransactionId(ID.toUpperCase(), 'transaction_id', new Faults())).toBe(ID);
});

it.each([
  ['application/json', true, false],
  ['Application/JSON; charset=utf-8', true, false],
  ['text/json', true, true],
  ['application/cloudevents+json', true, false],
  ['application/jsonx', false, false],
  ['text/plain', false, true],
  ['TEXT/csv;header=present', false, true],
  ['application/octet-stream', false, false],
])('a media type %s declares JSON: %s, text: %s', (mediaType, json, text) => {
  expect([isJsonType(mediaType), isTextType(mediaType)]).toEqual([json, text]);
});

it('faults are reported in one error, the first in its message', () => {
  const faults = new Faults();
  faults.add('events[0].id', 'is required');
  faults.add('events[2].subject', 'must not be blank', ' ');
  const error = faults.toError('The transaction is malformed');
  expect(error.code).toBe('invalid_argument');
  expect(error.message).toBe('The transaction is malformed: events[0].id is required (and 1 more)');
  expect(error.details.violations).toEqual([
    { field: 'events[0].id', description: 'is required' },
    { field: 'events[2].subject', description: 'must not be blank', value: ' ', found: '" "' },
  ]);
  expect(() => faults.throwIfAny('The transaction is malformed')).toThrow(error.message);
  expect(() => new Faults().throwIfAny('Nothing')).not.toThrow();
});

it('faults show a field with a limited part of its path', () => {
  const faults = new Faults();
  faults.add(`extensions["${'A'.repeat(1000)}"]`, 'must be shorter');
  expect(faults.violations[0]?.field).toBe(`extensions["${'A'.repeat(244)}… (1014 characters)`);
});

it('faults beyond one hundred are counted but not described, and values are shortened', () => {
  const faults = new Faults();
  for (let i = 0; i < 150; i++) faults.add(`events[${i}].id`, 'is wrong', 'x'.repeat(1000));
  expect([faults.count, faults.violations.length]).toEqual([150, 100]);
  expect(faults.violations[0]?.value).toBe(`${'x'.repeat(64)}… (1000 characters)`);
  expect(faults.toError('Wrong').message).toContain('(and 149 more)');
});
