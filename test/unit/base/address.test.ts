// Goal: an address is read as it is written, and nothing else is taken for one. Method: tables.
import { expect, it } from 'vitest';
import { formatAddress, isHost, parseAddress } from '#base';

it.each([
  ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
  ['cairn-0.cairn.shop.svc:50052', { host: 'cairn-0.cairn.shop.svc', port: 50_052 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
  ['255.249.199.1:80', { host: '255.249.199.1', port: 80 }],
  ['10.0.0.7.nip.io:80', { host: '10.0.0.7.nip.io', port: 80 }],
  ['[::1]:65535', { host: '::1', port: 65_535 }],
])('an address %s is read as it is written', (text, address) => {
  expect(parseAddress(text)).toEqual(address);
  expect(formatAddress(address)).toBe(text);
});

it.each(['', 'host', 'host:', ':1', 'host:0', 'host:65536', '::1:5', 'a b:1', 'http://host:1', '[x]:1', 'host:1 '])(
  'an address %j is none',
  (text) => expect(parseAddress(text)).toBeUndefined(),
);

it.each(['300.1.2.3', '1.2.3', '1.2.3.4.5', '1.2.3.256', '127', 'shop.1', '1.2.3.4.'])(
  'an address %s is no host: it ends as an IPv4 address does, and is none',
  (host) => expect(isHost(host)).toBe(false),
);
