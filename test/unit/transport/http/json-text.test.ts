// Goal: text that is put together is the JSON that JSON.stringify would write. Method: property.
import { assert as check, dictionary, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  jsonArray,
  jsonInteger,
  jsonObject,
  jsonString,
  jsonTimestamp,
} from '../../../../src/transport/http/json-text.ts';

describe('JSON text', () => {
  it('of an object of strings is what JSON.stringify writes', () => {
    const text = string({ unit: 'binary' });
    check(
      property(dictionary(text, text, { noNullPrototype: true }), (value) => {
        const members = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, jsonString(part)]));
        expect(jsonObject(members)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('leaves out members without a value', () => {
    expect(jsonObject({ a: undefined, b: '1', c: undefined, d: '2' })).toBe('{"b":1,"d":2}');
    expect(jsonObject({ a: undefined })).toBe('{}');
  });

  it('splices values in as they are', () => {
    expect(jsonArray(['{"n":9007199254740993}', '1.0'])).toBe('[{"n":9007199254740993},1.0]');
  });

  it('loses no digit of a revision', () => {
    expect(jsonInteger(Number.MAX_SAFE_INTEGER)).toBe('9007199254740991');
  });

  it('writes time in UTC, with as many digits as it has', () => {
    expect(jsonTimestamp(1_700_000_000_000)).toBe('"2023-11-14T22:13:20Z"');
    expect(jsonTimestamp(1_700_000_000_120)).toBe('"2023-11-14T22:13:20.12Z"');
  });
});
