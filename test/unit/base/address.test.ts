// Goal: an address in any of its valid spellings is parsed, and other texts are rejected. Method: tables.
import { expect, it } from 'vitest';
import { formatAddress, isHost, parseAddress } from '#base';

it.each([
  ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
  ['cairn-0.cairn.shop.svc:50052', { host: 'cairn-0.cairn.shop.svc', port: 50_052 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
  ['255.249.199.1:80', { host: '255.249.199.1', port: 80 }],
  ['10.0.0.7.nip.io:80', { host: '10.0.0.7.nip.io', port: 80 }],
  ['[::1]:65535', { host: '::1', port: 65_535 }],
])('an address %s is parsed', (text, address) => {
  expect(parseAddress(text)).toEqual(address);
  expect(formatAddress(address)).toBe(text);
});

it.each(['', 'host', 'host:', ':1', 'host:0', 'host:65536', '::1:5', 'a b:1', 'http://host:1', '[x]:1', 'host:1 '])(
  '%j is not an address',
  (text) => expect(parseAddress(text)).toBeUndefined(),
);

it.each(['300.1.2.3', '1.2.3', '1.2.3.4.5', '1.2.3.256', '127', 'shop.1', '1.2.3.4.'])(
  '%s is not a host, because it ends like an IPv4 address but is not one',
  (host) => expect(isHost(host)).toBe(false),
);
