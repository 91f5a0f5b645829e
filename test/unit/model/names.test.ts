// Goal: names keep the grammar of decisions 3 and 2.8, faults are collected and cut short. Method: tables.

import { describe, expect, it } from 'vitest';
import {
  Faults,
  isComponentName,
  isDatabaseName,
  isJsonType,
  isTextType,
  parseComponentName,
  parseDatabaseName,
  parseEventId,
  parseEventType,
  parseNamePrefix,
  parseStreamName,
  parseSubject,
  parseTransactionId,
} from '#model';

describe('a database name', () => {
  it.each(['a', '0', 'shop', 'a-b', 'a--b', '1a', 'a'.repeat(63)])('may be %j', (name) => {
    expect(isDatabaseName(name)).toBe(true);
    expect(parseDatabaseName(name, 'database_name', new Faults())).toBe(name);
  });

  it.each(['', '-', '-a', 'a-', 'A', 'shop_1', 'a.b', 'a b', 'é', 'a'.repeat(64), 'a\n', 'a/b'])(
    'must not be %j',
    (name) => {
      const faults = new Faults();
      expect(parseDatabaseName(name, 'database_name', faults)).toBeUndefined();
      expect(faults.toError('Wrong').message).toContain('must be lowercase alphanumeric, with hyphens inside');
    },
  );
});

describe('a component name', () => {
  it.each(['a', 'Z9', 'open-orders', 'a.b_c', `a${'b'.repeat(127)}`])('may be %j', (name) => {
    expect(isComponentName(name)).toBe(true);
    expect(parseComponentName(name, 'name', new Faults())).toBe(name);
  });

  it.each(['', '1a', '-a', '_a', 'a b', 'é', 'a/b', `a${'b'.repeat(128)}`])('must not be %j', (name) => {
    const faults = new Faults();
    expect(parseComponentName(name, 'name', faults)).toBeUndefined();
    expect(faults.count).toBe(1);
  });
});

describe.each([
  ['stream', parseStreamName],
  ['event type', parseEventType],
  ['subject', parseSubject],
  ['event id', parseEventId],
] as const)('a name of a %s (M2)', (_what, parse) => {
  it.each(['a', 'é', ' a ', 'a'.repeat(255)])('may be %j', (name) => {
    expect(parse(name, 'name', new Faults())).toBe(name);
  });

  it.each(['', ' ', 'a\u0000', 'a\u009f', '\ud800', 'a'.repeat(256)])('must not be %j', (name) => {
    const faults = new Faults();
    expect(parse(name, 'name', faults)).toBeUndefined();
    expect(faults.violations).toHaveLength(1);
  });
});

describe('a transaction id', () => {
  it('is a UUID of any version, in lowercase', () => {
    const id = '0199A5C8-3C1E-4A2B-8F00-0123456789AB';
    expect(parseTransactionId(id, 'transaction_id', new Faults())).toBe(id.toLowerCase());
  });

  it.each(['', 'abc', '0199a5c8-3c1e-4a2b-8f00-0123456789a', '{0199a5c8-3c1e-4a2b-8f00-0123456789ab}'])(
    'must not be %j',
    (id) => {
      const faults = new Faults();
      expect(parseTransactionId(id, 'transaction_id', faults)).toBeUndefined();
      expect(faults.violations[0]?.description).toContain('must be a UUID');
    },
  );
});

describe('a media type', () => {
  it.each([
    ['application/json', true, false],
    ['Application/JSON; charset=utf-8', true, false],
    ['text/json', true, true],
    ['application/cloudevents+json', true, false],
    ['application/jsonx', false, false],
    ['text/plain', false, true],
    ['TEXT/csv;header=present', false, true],
    ['application/octet-stream', false, false],
  ])('%s declares JSON: %s, text: %s', (mediaType, json, text) => {
    expect([isJsonType(mediaType), isTextType(mediaType)]).toEqual([json, text]);
  });
});

describe('faults', () => {
  it('are reported in one error, the first in its message', () => {
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

  it('name a field by so much of its path as is of use', () => {
    const faults = new Faults();
    faults.add(`extensions["${'A'.repeat(1000)}"]`, 'must be shorter');
    expect(faults.violations[0]?.field).toBe(`extensions["${'A'.repeat(244)}… (1014 characters)`);
  });

  it('are counted beyond the hundred that are described, and their values cut short', () => {
    const faults = new Faults();
    for (let i = 0; i < 150; i++) faults.add(`events[${i}].id`, 'is wrong', 'x'.repeat(1000));
    expect([faults.count, faults.violations.length]).toEqual([150, 100]);
    expect(faults.violations[0]?.value).toBe(`${'x'.repeat(64)}… (1000 characters)`);
    expect(faults.toError('Wrong').message).toContain('(and 149 more)');
  });
});

describe('a prefix of names', () => {
  it.each(['', ' ', 'a', 'order.', 'é'.repeat(127)])('may be %j', (text) => {
    const faults = new Faults();
    expect(parseNamePrefix(text, 'prefix', faults)).toBe(text);
    expect(faults.none).toBe(true);
  });

  it.each(['a\0', '\u0080', '\ud800', 'é'.repeat(128)])('may not be %j', (text) => {
    const faults = new Faults();
    expect(parseNamePrefix(text, 'prefix', faults)).toBeUndefined();
    expect(faults.violations[0]?.field).toBe('prefix');
  });
});
