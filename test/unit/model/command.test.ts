// Goal: each spelling of a command has the same result, and faults have the path of their field. Method: tables.
import { describe, expect, it } from 'vitest';
import { type AskedCommand, COMMAND_BODY_BYTES_MAX, type Command, commandFrom } from '#model';
import { COMMAND_PAIRS_MAX, COMMAND_VALUE_BYTES_MAX } from '../../../src/model/limits.ts';
import { outcome } from '../../support/model-reading.ts';

const BODY = Uint8Array.of(1);

function read(asked: AskedCommand): Command | readonly string[] | undefined {
  return outcome((faults) => commandFrom(asked, { field: 'command', faults }));
}

const B_AND_D = new Map([
  ['b', 'x/ä {y}'],
  ['d', '1'],
]);
const D_TWICE = [
  ['d', '0'],
  ['d', '1'],
] as const;
const WITH_TYPE = [
  ['content-type', 'a/b'],
  ['x-one', 'a\tb é'],
] as const;

describe('commandFrom', () => {
  it.each<readonly [string, AskedCommand, Partial<Command>]>([
    ['a body alone', { body: BODY }, { method: 'POST', path: '/', queryParameters: [], headers: [], body: BODY }],
    ['nothing', {}, { method: 'POST', path: '/', body: undefined }],
    ['a method in small letters', { method: 'delete', path: '/a' }, { method: 'DELETE', path: '/a' }],
    [
      'a path with parameters, and more of them',
      { path: '/a/{b}/c', parameters: B_AND_D, queryParameters: [['d', '0']] },
      { path: '/a/x%2F%C3%A4%20%7By%7D/c', queryParameters: D_TWICE },
    ],
    ['parameters alone', { parameters: new Map([['s.id', 'x']]) }, { path: '/', queryParameters: [['s.id', 'x']] }],
    ['one parameter twice', { path: '/{a}/{a}', parameters: new Map([['a', '1']]) }, { path: '/1/1' }],
    ['a path that is encoded already', { path: '/a%2Fb/ä//' }, { path: '/a%2Fb/ä//' }],
    ['a header and a content type', { headers: [['X-One', 'a\tb é']], contentType: 'a/b' }, { headers: WITH_TYPE }],
    ['the content type as a header', { headers: [['Content-Type', 'a/b']] }, { headers: [['content-type', 'a/b']] }],
  ])('accepts %s', (_, asked, expected) => {
    expect(read(asked)).toMatchObject(expected);
  });

  const given = (value: string): AskedCommand['parameters'] => new Map([['a', value]]);
  const pairs = Array.from({ length: COMMAND_PAIRS_MAX + 1 }, () => ['a', 'b'] as const);
  const long = 'x'.repeat(COMMAND_VALUE_BYTES_MAX + 1);
  it.each<readonly [string, AskedCommand, string]>([
    ['a method that is none', { method: 'GET /' }, 'method must be 1 to 32 letters'],
    ['a path without a slash', { path: 'a' }, 'path must begin with "/"'],
    ['a query in the path', { path: '/a?b=c' }, 'path must begin'],
    ['white space in the path', { path: '/a b' }, 'path must begin'],
    ['half a segment that is open', { path: '/a{b}' }, 'path must be of fixed segments and {name} segments'],
    ['a name that is none', { path: '/{1}' }, 'path must be of fixed segments'],
    ['half an escape', { path: '/%c3' }, 'path must be percent-encoded UTF-8'],
    ['half a character', { path: '/\ud800' }, 'path must not contain an unpaired surrogate'],
    ['a long path', { path: `/${'a'.repeat(2048)}` }, 'path must be at most 2048 bytes'],
    ['a path made long', { path: '/{a}', parameters: given('ä'.repeat(400)) }, 'path must be at most 2048 bytes with'],
    ['a segment without a value', { path: '/{a}' }, 'parameters.a is required by the segment "{a}"'],
    ['a segment with an empty value', { path: '/{a}', parameters: given('') }, 'parameters.a must not be empty'],
    ['half a character in a segment', { path: '/{a}', parameters: given('\udc00') }, 'parameters.a must not contain'],
    ['a query parameter without a name', { queryParameters: [['', 'x']] }, 'query_params[0].name must not be'],
    ['half a character in the query', { parameters: given('\ud800') }, 'query_params[0].value must be well-formed'],
    ['a long query parameter', { queryParameters: [['a', long]] }, 'query_params[0].value must be at most 8192 bytes'],
    ['many query parameters', { queryParameters: pairs }, 'query_params must be at most 128'],
    ['many headers', { headers: pairs }, 'headers must be at most 128'],
    ['a header that is no token', { headers: [['a b', 'x']] }, 'headers[0].name must be a token'],
    ['a header of two lines', { headers: [['a', 'x\ny']] }, 'headers[0].value must be one line'],
    ['a content type that is none', { contentType: 'json' }, 'content_type must be a media type'],
    ['two types', { contentType: 'a/b', headers: [['Content-type', 'a/b']] }, 'headers[0].name must not be the'],
    ['a large body', { body: new Uint8Array(COMMAND_BODY_BYTES_MAX + 1) }, 'body must be at most 1000000 bytes'],
  ])('rejects %s', (_, asked, says) => {
    expect(read(asked)).toEqual([expect.stringContaining(`command.${says}`)]);
  });

  it('reports all faults at once', () => {
    expect(read({ method: '', path: '/{a}', contentType: '' })).toHaveLength(3);
  });
});
