// Goal: a component is told nothing by which somebody is known here. Method: requests to servers with other extractors.
import { expect, it } from 'vitest';
import { commandHeaders } from '../../../../src/transport/http/command-headers.ts';
import type { HttpRequest } from '../../../../src/transport/http/request.ts';

function told(inputs: readonly string[] | undefined): readonly string[] {
  const request: object = {
    header: () => undefined,
    headers: () => [
      ['X-Till', '3'],
      ['X-Badge', 'secret'],
      ['X-Proxy-Jwt', 'secret'],
      ['X-Cairn-Counted', 'secret'],
      ['X-MS-TOKEN-AAD-ACCESS-TOKEN', 'secret'],
    ],
    privacy: () => ({ isRequired: true, inputs }),
  };
  return commandHeaders(request as HttpRequest).map(([name]) => name);
}

it.each<[readonly string[] | undefined, readonly string[]]>([
  [[], ['x-till', 'x-badge', 'x-proxy-jwt']],
  [
    ['X-API-Key', 'X-Proxy-Jwt'],
    ['x-till', 'x-badge'],
  ],
  [['x-badge', 'X-Proxy-Jwt'], ['x-till']],
  // An extractor that does not say what it looks at may look at any of them.
  [undefined, []],
])('of a server that knows people by %j it is told %j', (inputs, names) => {
  expect(told(inputs)).toEqual(names);
});

it.each([
  ['a byte order mark', '\u00ef\u00bb\u00bfmark', '\ufeffmark'],
  ['letters of UTF-8', 'J\u00c3\u00bcrgen', 'J\u00fcrgen'],
  ['bytes that are no UTF-8', 'J\u00fcrgen', 'J\u00fcrgen'],
])('a component is told %s as they were sent', (_, sent, expected) => {
  const request: object = {
    header: () => undefined,
    headers: () => [['x-name', sent]],
    privacy: () => ({ isRequired: false, inputs: [] }),
  };
  expect(commandHeaders(request as HttpRequest)).toEqual([['x-name', expected]]);
});
