// Goal: no number or text takes a brand that it does not deserve (B1). Method: tables of values at the edges.

import { describe, expect, it } from 'vitest';
import {
  BrokenInvariant,
  CATALOG_GROUP,
  isDatabaseId,
  isGroupId,
  isLogIndex,
  isRevision,
  isTerm,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toRevision,
  toTerm,
} from '#base';

const COUNTS = [0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
const NOT_COUNTS = [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY];

describe.each([
  ['revision', isRevision, toRevision],
  ['log index', isLogIndex, toLogIndex],
  ['term', isTerm, toTerm],
] as const)('%s (B1)', (_name, is, to) => {
  it.each(COUNTS)('takes the safe integer %d', (value) => {
    expect(is(value)).toBe(true);
    expect(to(value)).toBe(value);
  });

  it.each(NOT_COUNTS)('refuses %d', (value) => {
    expect(is(value)).toBe(false);
    expect(() => to(value)).toThrow(BrokenInvariant);
    expect(() => to(value)).toThrow(`found ${value}`);
  });
});

describe('group id (B1)', () => {
  it.each([0, 1, 2 ** 32 - 1])('takes the 32-bit number %d', (value) => {
    expect(isGroupId(value)).toBe(true);
    expect(toGroupId(value)).toBe(value);
  });

  it.each([-1, 0.5, 2 ** 32, Number.NaN])('refuses %d', (value) => {
    expect(isGroupId(value)).toBe(false);
    expect(() => toGroupId(value)).toThrow(`found ${value}`);
  });

  it('is 0 for the catalog', () => {
    expect(CATALOG_GROUP).toBe(0);
  });
});

describe('database_id', () => {
  const good = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';

  it('takes a UUIDv7 in lowercase', () => {
    expect(isDatabaseId(good)).toBe(true);
    expect(toDatabaseId(good)).toBe(good);
  });

  it.each([
    ['another version', good.replace('-7', '-4')],
    ['another variant', good.replace('-9', '-c')],
    ['uppercase', good.toUpperCase()],
    ['a line break behind it', `${good}\n`],
    ['the empty text', ''],
  ])('refuses %s', (_what, text) => {
    expect(isDatabaseId(text)).toBe(false);
    expect(() => toDatabaseId(text)).toThrow(`found ${JSON.stringify(text)}`);
  });
});
