// Goal: a component receives no header that authenticates a client. Method: a table of authenticating headers.
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
  [undefined, []],
])('with authentication by %j a component receives %j', (inputs, names) => {
  expect(told(inputs)).toEqual(names);
});
