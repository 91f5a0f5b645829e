// Goal: the functions that brand numbers and texts reject invalid values (B1). Method: tables of values at the limits.
import { describe, expect, it } from 'vitest';
import {
  BrokenInvariant,
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

const GROUP_MAX = 2 ** 32 - 1;

describe.each([
  ['revision', isRevision, toRevision, Number.MAX_SAFE_INTEGER],
  ['log index', isLogIndex, toLogIndex, Number.MAX_SAFE_INTEGER],
  ['term', isTerm, toTerm, Number.MAX_SAFE_INTEGER],
  ['group id', isGroupId, toGroupId, GROUP_MAX],
] as const)('%s (B1)', (_name, is, to, max) => {
  it.each([0, 1, max])('accepts the integer %d', (value) => {
    expect([is(value), to(value)]).toEqual([true, value]);
  });

  it.each([-1, 0.5, max + 1, Number.NaN, Number.POSITIVE_INFINITY])('rejects %d', (value) => {
    expect(is(value)).toBe(false);
    expect(() => to(value)).toThrow(BrokenInvariant);
    expect(() => to(value)).toThrow(`found ${value}`);
  });
});

describe('database_id', () => {
  const good = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';

  it('accepts a UUIDv7 in lowercase', () => {
    expect(isDatabaseId(good)).toBe(true);
    expect(toDatabaseId(good)).toBe(good);
  });

  it.each([
    ['another version', good.replace('-7', '-4')],
    ['another variant', good.replace('-9', '-c')],
    ['uppercase', good.toUpperCase()],
    ['a line break behind it', `${good}\n`],
    ['the empty text', ''],
  ])('rejects %s', (_what, text) => {
    expect(isDatabaseId(text)).toBe(false);
    expect(() => toDatabaseId(text)).toThrow(`found ${JSON.stringify(text)}`);
  });
});
