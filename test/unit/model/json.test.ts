// Goal: JSON is parsed strictly and without loss (M8), and invalid JSON is rejected with its position and the expected
// text. Method: tables; the platform's JSON.parse is the oracle for random texts and random damage.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8 } from '#base';
import { isWellFormedJson, type JsonNode, parseJson } from '#model';
import { JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../../../src/model/limits.ts';
import { runs } from '../../support/runs.ts';

const parse = (text: string): ReturnType<typeof parseJson> => parseJson(encodeUtf8(text));

function faultOf(text: string | Uint8Array): string {
  const node = parseJson(typeof text === 'string' ? encodeUtf8(text) : text);
  return node.kind === 'fault' ? node.message : `parsed as ${node.kind}`;
}

/** Converts to the values of JSON.parse: numbers become floats, the last of repeated names wins. */
function toPlatform(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries([...node.members].map(([name, part]) => [name, toPlatform(part)]));
    case 'array':
      return node.items.map(toPlatform);
    case 'number':
      return Number(node.text);
    case 'string':
    case 'boolean':
      return node.value;
    case 'raw':
      return JSON.parse(decodeUtf8(node.bytes) ?? '');
    case 'null':
      return null;
  }
}

function platformParses(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

describe('parseJson (M8)', () => {
  it('keeps numbers as they were spelled', () => {
    const items = ['9007199254740993', '1e400', '-0', '1.10'].map((text) => ({ kind: 'number', text }));
    expect(parse('[9007199254740993, 1e400, -0, 1.10]')).toEqual({ kind: 'array', items });
  });

  it('treats no name as special, and keeps the order of names', () => {
    const node = parse('{"__proto__":1,"constructor":2,"b":3,"1":4,"a":5}');
    const names = node.kind === 'object' ? [...node.members.keys()] : [];
    expect(names).toEqual(['__proto__', 'constructor', 'b', '1', 'a']);
    expect({}).not.toHaveProperty('b');
  });

  it('keeps the values of raw members as their original bytes, at any depth', () => {
    const text = '{"a":[{"data" : {"x":1, "x":2}  ,"b":1},{"data":"\\ud800"}]}';
    const node = parseJson(encodeUtf8(text), { raw: new Set(['data']) });
    const items = node.kind === 'object' ? node.members.get('a') : undefined;
    const datas =
      items?.kind === 'array'
        ? items.items.map((item) => (item.kind === 'object' ? item.members.get('data') : item))
        : [];
    const texts = datas.map((data) => (data?.kind === 'raw' ? decodeUtf8(data.bytes) : data));
    expect(texts).toEqual(['{"x":1, "x":2}', '"\\ud800"']);
  });

  it.each([
    ['"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"', 'a"\\/\b\f\n\r\té😀'],
    ['"\\\\u0041"', '\\u0041'],
    ['"\\ud800"', '\ud800'],
    ['"é\u007f"', 'é\u007f'],
  ])('reads the string %s', (text, value) => {
    expect(parse(text)).toEqual({ kind: 'string', value });
  });

  it.each([
    ['', 'line 1, column 1: expected a value; found the end'],
    ['{', 'line 1, column 2: expected a member name in quotes; found the end'],
    ['{"a"}', 'line 1, column 5: expected ":"; found "}"'],
    ['[1,]', 'line 1, column 4: expected a value; found "]"'],
    ['[1 2]', 'line 1, column 4: expected "," or "]"; found "2]"'],
    ['[1]\n\n  x', 'line 3, column 3: expected the end of the text; found "x"'],
    ['{"é😀": nul}', 'line 1, column 8: expected null; found "nul}"'],
    [
      '{"a":1,"a":2}',
      'line 1, column 8: expected each name once in an object, but "a" is repeated; found "\\"a\\":2}"',
    ],
    [
      '{"a":1,"\\u0061":2}',
      'line 1, column 8: expected each name once in an object, but "a" is repeated; found "\\"\\\\u0061\\":2}"',
    ],
    ['01', 'line 1, column 2: expected the end of the text; found "1"'],
    ['-', 'line 1, column 2: expected a digit; found the end'],
    ['1e+', 'line 1, column 4: expected a digit; found the end'],
    ['+1', 'line 1, column 1: expected a value; found "+1"'],
    ['"a', 'line 1, column 3: expected the end of the string; found the end'],
    ['"a\nb"', 'line 1, column 3: expected an escape instead of a control character; found "\\nb\\""'],
    ['"\\x"', 'line 1, column 2: expected an escape: one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u; found "\\\\x\\""'],
    ['"\\u12g4"', 'line 1, column 6: expected four hexadecimal digits; found "g4\\""'],
    ['// a\n1', 'line 1, column 1: expected a value; found "// a\\n1"'],
    ['\ufeff1', 'line 1, column 1: expected a value; found "\\ufeff1"'],
  ])('rejects %j', (text, message) => {
    expect(faultOf(text)).toBe(message);
  });

  it('rejects text that is not UTF-8', () => {
    expect(faultOf(Uint8Array.of(0x22, 0xc3, 0x28, 0x22))).toBe(
      'line 1, column 2: expected well-formed UTF-8; found the byte 0xc3',
    );
  });

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('rejects more levels than the limit of %s', (open, close) => {
    const nested = (depth: number): string => `${open.repeat(depth)}1${close.repeat(depth)}`;
    expect(parse(nested(JSON_DEPTH_MAX)).kind).not.toBe('fault');
    expect(faultOf(nested(JSON_DEPTH_MAX + 1))).toContain(`expected at most ${JSON_DEPTH_MAX} levels`);
    expect(faultOf(nested(100_000))).toContain('expected at most');
    const raw = encodeUtf8(`{"data":${nested(JSON_DEPTH_MAX)}}`);
    expect(parseJson(raw, { raw: new Set(['data']) }).kind).toBe('fault');
  });

  it('rejects more values than the limit as too large, and counts a raw one once', () => {
    const list = (count: number): string => `[${'0,'.repeat(count - 1)}0]`;
    expect(parse(list(JSON_VALUES_MAX - 1)).kind).toBe('array');
    const many = parse(list(JSON_VALUES_MAX));
    expect(many).toMatchObject({ kind: 'fault', isTooLarge: true });
    expect(faultOf(list(JSON_VALUES_MAX))).toContain(`expected at most ${JSON_VALUES_MAX} values`);
    expect(parse('[0')).toMatchObject({ kind: 'fault', isTooLarge: false });
    const data = encodeUtf8(`{"data":${list(JSON_VALUES_MAX)}}`);
    expect(parseJson(data, { raw: new Set(['data']) }).kind).toBe('object');
  });

  it('agrees with the platform about every value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
        const spaced = `${space}${text}${space}`;
        const node = parse(spaced);
        expect(node.kind === 'fault' ? node.message : toPlatform(node)).toEqual(JSON.parse(spaced));
        expect(isWellFormedJson(encodeUtf8(spaced), 0, encodeUtf8(spaced).length)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  it('agrees with the platform about valid JSON, except for repeated names', () => {
    const pieces = fc.constantFrom(...Array.from('{}[],:"\\a01-.e+ \n'), '\\u00e9', 'true', 'null', '"a"', '"b"');
    const damaged = fc
      .tuple(fc.json({ maxDepth: 3 }), fc.nat(40), pieces)
      .map(([text, at, piece]) => text.slice(0, at) + piece + text.slice(at + 1));
    fc.assert(
      fc.property(
        fc.oneof(
          damaged,
          fc.array(pieces, { maxLength: 8 }).map((list) => list.join('')),
        ),
        (text) => {
          const bytes = encodeUtf8(text);
          const node = parseJson(bytes);
          const wellFormed = platformParses(text);
          expect(isWellFormedJson(bytes, 0, bytes.length)).toBe(wellFormed);
          const repeated = node.kind === 'fault' && node.message.includes('is repeated');
          expect(node.kind !== 'fault' || repeated).toBe(wellFormed);
          expect(parseJson(encodeUtf8(`{"data":${text}}`), { raw: new Set(['data']) }).kind === 'object').toBe(
            wellFormed || platformParses(`{"data":${text}}`),
          );
        },
      ),
      { numRuns: runs(5000) },
    );
  });
});
