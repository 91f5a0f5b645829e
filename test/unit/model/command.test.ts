// Goal: whatever way a command is said in, it is one value, and what it must not be is told with its place. Method:
// tables.
import { describe, expect, it } from 'vitest';
import {
  type AskedCommand,
  COMMAND_BODY_BYTES_MAX,
  COMMAND_PAIRS_MAX,
  COMMAND_VALUE_BYTES_MAX,
  type Command,
  commandFrom,
  Faults,
} from '#model';

const BODY = Uint8Array.of(1);

function read(asked: AskedCommand): Command | readonly string[] {
  const faults = new Faults();
  const command = commandFrom(asked, { field: 'command', faults });
  return command ?? faults.violations.map(({ field, description }) => `${field} ${description}`);
}

describe('commandFrom', () => {
  it.each<readonly [string, AskedCommand, Partial<Command>]>([
    ['a body alone', { body: BODY }, { method: 'POST', path: '/', queryParameters: [], headers: [], body: BODY }],
    ['nothing', {}, { method: 'POST', path: '/', body: undefined }],
    ['a method in small letters', { method: 'delete', path: '/a' }, { method: 'DELETE', path: '/a' }],
    [
      'a path with parameters, and more of them',
      {
        path: '/a/{b}/c',
        parameters: new Map([
          ['b', 'x/ä {y}'],
          ['d', '1'],
        ]),
        queryParameters: [['d', '0']],
      },
      {
        path: '/a/x%2F%C3%A4%20%7By%7D/c',
        queryParameters: [
          ['d', '0'],
          ['d', '1'],
        ],
      },
    ],
    [
      'parameters without a path',
      { parameters: new Map([['subject.id', 'x']]) },
      { path: '/', queryParameters: [['subject.id', 'x']] },
    ],
    ['one parameter twice', { path: '/{a}/{a}', parameters: new Map([['a', '1']]) }, { path: '/1/1' }],
    ['a path that is encoded already', { path: '/a%2Fb/ä//' }, { path: '/a%2Fb/ä//' }],
    [
      'headers and a content type',
      { headers: [['X-One', 'a\tb é']], contentType: 'application/json' },
      {
        headers: [
          ['content-type', 'application/json'],
          ['x-one', 'a\tb é'],
        ],
      },
    ],
    ['the content type as a header', { headers: [['Content-Type', 'a/b']] }, { headers: [['content-type', 'a/b']] }],
  ])('takes %s', (_, asked, expected) => {
    expect(read(asked)).toMatchObject(expected);
  });

  it.each<readonly [string, AskedCommand, RegExp]>([
    ['a method that is none', { method: 'GET /' }, /^command\.method must be 1 to 32 letters/],
    ['a path without a slash', { path: 'a' }, /^command\.path must begin with "\/"/],
    ['an empty path', { path: '' }, /^command\.path must begin with "\/"/],
    ['a query in the path', { path: '/a?b=c' }, /query parameters stand by themselves/],
    ['a fragment', { path: '/a#b' }, /^command\.path must begin/],
    ['white space in the path', { path: '/a b' }, /^command\.path must begin/],
    [
      'half a segment that is open',
      { path: '/a{b}' },
      /^command\.path must be of fixed segments and \{name\} segments/,
    ],
    ['a name that is none', { path: '/{1}' }, /^command\.path must be of fixed segments/],
    ['half an escape', { path: '/%c3' }, /^command\.path must be percent-encoded UTF-8/],
    ['half a character', { path: '/\ud800' }, /^command\.path must not contain an unpaired surrogate/],
    ['a long path', { path: `/${'a'.repeat(2048)}` }, /^command\.path must be at most 2048 bytes$/],
    [
      'a path that parameters make long',
      { path: '/{a}', parameters: new Map([['a', 'ä'.repeat(400)]]) },
      /^command\.path must be at most 2048 bytes with its parameters$/,
    ],
    ['a segment without a value', { path: '/{a}' }, /^command\.parameters\.a is required by the segment "\{a\}"/],
    [
      'a segment with an empty value',
      { path: '/{a}', parameters: new Map([['a', '']]) },
      /^command\.parameters\.a must not be empty/,
    ],
    [
      'a segment with half a character',
      { path: '/{a}', parameters: new Map([['a', '\udc00']]) },
      /^command\.parameters\.a must not contain an unpaired surrogate/,
    ],
    [
      'a query parameter without a name',
      { queryParameters: [['', 'x']] },
      /^command\.query_params\[0\]\.name must not be/,
    ],
    [
      'a query parameter with half a character',
      { parameters: new Map([['a', '\ud800']]) },
      /^command\.query_params\[0\]\.value must be well-formed/,
    ],
    [
      'a query parameter that is long',
      { queryParameters: [['a', 'x'.repeat(COMMAND_VALUE_BYTES_MAX + 1)]] },
      /^command\.query_params\[0\]\.value must be at most 8192 bytes/,
    ],
    [
      'many query parameters',
      { queryParameters: Array.from({ length: COMMAND_PAIRS_MAX + 1 }, () => ['a', 'b'] as const) },
      /^command\.query_params must be at most 128$/,
    ],
    [
      'many headers',
      { headers: Array.from({ length: COMMAND_PAIRS_MAX + 1 }, () => ['a', 'b'] as const) },
      /^command\.headers must be at most 128$/,
    ],
    ['a header that is no token', { headers: [['a b', 'x']] }, /^command\.headers\[0\]\.name must be a token/],
    ['a header of two lines', { headers: [['a', 'x\ny']] }, /^command\.headers\[0\]\.value must be one line/],
    ['a content type that is none', { contentType: 'json' }, /^command\.content_type must be a media type/],
    [
      'two content types',
      { contentType: 'a/b', headers: [['Content-type', 'a/b']] },
      /^command\.headers\[0\]\.name must not be the content type/,
    ],
    [
      'a large body',
      { body: new Uint8Array(COMMAND_BODY_BYTES_MAX + 1) },
      /^command\.body must be at most 1000000 bytes/,
    ],
  ])('refuses %s', (_, asked, says) => {
    expect(read(asked)).toEqual([expect.stringMatching(says)]);
  });

  it('says all that is wrong at once', () => {
    expect(read({ method: '', path: '/{a}', contentType: '' })).toHaveLength(3);
  });
});
