// Goal: query parameters are decoded strictly. Method: texts of URLSearchParams, and tables.
import { assert as check, property, string, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { parseInteger, parseQueryString, parseRevision } from '../../../../src/transport/http/query-string.ts';

const BOUNDS = { min: 1, max: 1000 };

describe('query string', () => {
  it('decodes the text of URLSearchParams', () => {
    const text = string({ unit: 'grapheme', maxLength: 20 });
    check(
      property(uniqueArray(text), text, (names, value) => {
        const written = new URLSearchParams(Object.fromEntries(names.map((name) => [name, value + name]))).toString();
        const read = parseQueryString(written);
        for (const name of names) expect(read.get(name)).toBe(value + name);
      }),
    );
  });

  it.each([
    ['a', 'a', ''],
    ['a=', 'a', ''],
    ['a=b=c', 'a', 'b=c'],
    ['&&a=1&', 'a', '1'],
    ['__proto__=1', '__proto__', '1'],
    ['a=b+c', 'a', 'b c'],
    ['b=1', 'a', undefined],
  ])('of %j has %s = %j', (text, name, value) => {
    expect(parseQueryString(text).get(name)).toBe(value);
  });

  it.each(['a=%', 'a=%zz', '%ff=1', 'a=%C3'])('of %s is rejected for its encoding', (text) => {
    expect(() => parseQueryString(text)).toThrow('must have percent encodings of UTF-8');
  });

  it('is rejected when a parameter is given twice', () => {
    expect(() => parseQueryString('a=1&%61=1')).toThrow('a must be given once');
  });

  it('has its names in order, and is written again with one parameter changed', () => {
    expect([...parseQueryString('b=1&%61=2').names()]).toEqual(['b', 'a']);
    expect(parseQueryString('limit=2&after=a').with('after', 'ö b')).toBe('limit=2&after=%C3%B6+b');
  });
});

describe('integer parameter', () => {
  it.each(['1', '17', '1000'])('%s is accepted', (text) => {
    expect(parseInteger('limit', text, BOUNDS)).toBe(Number(text));
  });

  it.each(['', '0', '01', '1001', '-1', '+1', '1.0', '1e2', '0x1', ' 1', '١', '9'.repeat(400)])(
    '%j is rejected with the valid values',
    (text) => {
      expect(() => parseInteger('limit', text, BOUNDS)).toThrow(DatabaseError);
      expect(() => parseInteger('limit', text, BOUNDS)).toThrow('limit must be an integer from 1 to 1000');
    },
  );

  it('names a leading zero, and rejects the first number that is not a safe integer', () => {
    expect(() => parseInteger('limit', '007', BOUNDS)).toThrow(
      'limit must be an integer from 1 to 1000, without a leading zero; found 007',
    );
    expect(parseRevision('revision', '0')).toBe(0);
    const all = { min: 0, max: Number.MAX_SAFE_INTEGER };
    expect(parseInteger('revision', '9007199254740991', all)).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => parseInteger('revision', '9007199254740992', all)).toThrow(DatabaseError);
    const rule = 'must be an integer from 0 to 2^64 - 1';
    expect(() => parseRevision('revision', '00')).toThrow(`revision ${rule}, without a leading zero; found 00`);
    expect(() => parseRevision('revision', '1a')).toThrow(`revision ${rule}; found "1a"`);
  });
});
