// Which origins and hosts may ask, by where a node listens and what it allows.
import { expect, it } from 'vitest';
import { Origins, type OriginsOptions } from '../../../src/transport/origins.ts';

const NAMED = ['https://shop.example'];
const ANY = '*';

it.each<
  [
    OriginsOptions,
    { readonly host: string | undefined; readonly origin: string | undefined; readonly 'sec-fetch-site'?: string },
    RegExp,
  ]
>([
  [{ host: '127.0.0.1', allowed: ANY }, { host: 'localhost:3001', origin: undefined }, /^fine$/],
  [{ host: '::1', allowed: ANY }, { host: '[::1]:3001', origin: 'http://[::1]:5173' }, /^fine$/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: '127.0.0.1:3001', origin: 'http://localhost:5173' }, /^fine$/],
  [
    { host: '127.0.0.1', allowed: ANY },
    { host: '127.0.0.1', origin: 'https://shop.example' },
    /Invalid Origin "https:\/\/shop.example"/,
  ],
  [{ host: '127.0.0.1', allowed: NAMED }, { host: '127.0.0.1', origin: 'https://shop.example' }, /^fine$/],
  [{ host: '127.0.0.1', allowed: NAMED }, { host: '127.0.0.1', origin: 'https://shop.example.evil' }, /Invalid Origin/],
  [{ host: '127.0.0.1', allowed: NAMED }, { host: '127.0.0.1', origin: 'null' }, /Invalid Origin/],
  // Its name leads here: DNS rebinding.
  [
    { host: '127.0.0.1', allowed: ANY },
    { host: 'evil.example:3001', origin: undefined },
    /Invalid Host "evil.example:3001"/,
  ],
  [{ host: '127.0.0.1', allowed: ANY }, { host: 'evil.example', origin: 'http://evil.example' }, /Invalid Host/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: undefined, origin: undefined }, /^fine$/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: undefined, origin: 'http://evil.example' }, /Invalid Origin/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: '', origin: undefined }, /Invalid Host/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: '127.evil.example', origin: undefined }, /Invalid Host/],
  [{ host: '127.0.0.2', allowed: ANY }, { host: 'evil.example', origin: undefined }, /Invalid Host/],
  [
    { host: '0.0.0.0', allowed: ANY },
    { host: 'backend', origin: 'https://shop.example', 'sec-fetch-site': 'same-origin' },
    /^fine$/,
  ],
  [
    { host: '127.0.0.1', allowed: ANY },
    { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
    /Invalid Host/,
  ],
  [{ host: '127.0.0.2', allowed: ANY }, { host: '127.0.0.2:3001', origin: undefined }, /^fine$/],
  [{ host: '127.0.0.1', allowed: NAMED }, { host: 'shop.example', origin: undefined }, /^fine$/],
  [{ host: '127.0.0.1', allowed: ANY }, { host: 'localhost@evil.example', origin: undefined }, /Invalid Host/],
  [{ host: '0.0.0.0', allowed: ANY }, { host: 'node.example:3001', origin: 'https://node.example' }, /^fine$/],
  [{ host: '0.0.0.0', allowed: ANY }, { host: 'node.example:3001', origin: 'http://localhost:5173' }, /^fine$/],
  [{ host: '0.0.0.0', allowed: ANY }, { host: 'node.example:3001', origin: 'https://other.example' }, /Invalid Origin/],
  [{ host: '0.0.0.0', allowed: ANY }, { host: undefined, origin: undefined }, /^fine$/],
])('at %j a request of %j is %s', (options, headers, said) => {
  const origins = new Origins(options);
  expect(origins.faultIn(headers) ?? 'fine').toMatch(said);
  expect(origins.headersFor(headers)['access-control-allow-origin']).toBe(headers.origin);
});
