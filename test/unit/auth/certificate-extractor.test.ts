// Goal: a certificate names one principal, that of the client, also when a proxy or a node relays the request; a header
// that only looks like a certificate gives no principal. Method: certificates of a test authority, and forged headers.
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { type Credentials, certificateExtractor, clientCertOf, type Found } from '#auth';
import { namesOf } from '../../../src/auth/certificate-extractor.ts';
import { Authority, type Subject } from '../../support/certificates.ts';
import { credentialsOf } from '../../support/credentials.ts';

const authority = new Authority();
const certificate = (subject: Subject): X509Certificate => new X509Certificate(authority.issue(subject).cert);

const client = certificate({ cn: 'api', names: ['URI:spiffe://shop/api', 'DNS:api.shop.example', 'DNS:api'] });
const node = certificate({ cn: 'node', names: ['DNS:node-1.cairn'] });
let nowMs = Date.now();

const extractor = certificateExtractor({
  rules: [
    { name: 'URI=spiffe://shop/api', grants: [{ role: 'writer', databases: 'shop' }] },
    { name: 'DNS=api', grants: [{ role: 'reader', databases: '*' }] },
    { name: 'CN=node', grants: [{ role: 'admin', databases: '*' }] },
  ],
  others: ['Authorization', 'X-API-Key'],
  relayedBy: 'x-relayed',
  isOfNode: (shown, name) => shown === node && name === 'node-1',
  nowMs: () => nowMs,
});

function found(shown: X509Certificate | undefined, headers: Parameters<typeof credentialsOf>[0] = {}): Found {
  const credentials: Credentials = { ...credentialsOf(headers), certificate: shown };
  const one = extractor.extract(credentials);
  if (one instanceof Promise) throw new TypeError('nothing is waited for');
  return one;
}

function idOf(one: Found): string {
  return one.kind === 'principal' ? one.principal.id : one.kind;
}

it('the names of a certificate are its URIs, its names of DNS, and its common name', () => {
  expect(namesOf(client)).toEqual(['URI=spiffe://shop/api', 'DNS=api.shop.example', 'DNS=api', 'CN=api']);
  expect(namesOf(certificate({ cn: 'alone' }))).toEqual(['CN=alone']);
});

it.each(['URI:spiffe://a/b, DNS:admin', 'URI:spiffe://a/b", URI:spiffe://admin', 'URI:a\\", DNS:admin'])(
  'the names of a certificate one that looks like several, %j, is one',
  (name) => {
    expect(namesOf(certificate({ cn: 'x', names: [name] }))).toEqual([name.replace(':', '='), 'CN=x']);
  },
);

it('the names of a certificate have the grants of all rules that name them, and of none that only begin so', () => {
  const one = found(client);
  expect(one).toMatchObject({ principal: { id: 'certificate:URI=spiffe://shop/api', name: 'spiffe://shop/api' } });
  const grants = one.kind === 'principal' ? one.principal.grants : [];
  expect(grants).toEqual([
    { role: 'writer', databases: 'shop' },
    { role: 'reader', databases: '*' },
  ]);
  const near = certificate({ cn: 'api', names: ['URI:spiffe://shop/api2', 'DNS:apis'] });
  expect(found(near)).toMatchObject({ kind: 'principal', principal: { grants: [] } });
});

it('a principal by certificate is none where a header says who asks, or there is no certificate', () => {
  expect(found(undefined)).toEqual({ kind: 'nothing' });
  expect(found(client, { authorization: 'Basic x' })).toEqual({ kind: 'nothing' });
  expect(found(client, { 'x-api-key': 'x' })).toEqual({ kind: 'nothing' });
});

it('a principal by certificate ends with its certificate', () => {
  const short = certificate({ cn: 'short', days: [-1, 1] });
  const one = found(short);
  expect(one.kind === 'principal' && one.principal.holds()).toBe(true);
  nowMs += 2 * 86_400_000;
  expect(one.kind === 'principal' && one.principal.holds()).toBe(false);
  expect(found(short)).toEqual({ kind: 'refused', why: 'the certificate of short has expired' });
  nowMs = Date.now();
});

it('a request that a node passes on is of the client whose certificate it has, and never of the node', () => {
  const passedOn = { 'client-cert': clientCertOf(client), 'x-relayed': 'node-1' };
  expect(idOf(found(node, passedOn))).toBe('certificate:URI=spiffe://shop/api');
  expect(found(node, { 'x-relayed': 'node-1' })).toEqual({ kind: 'nothing' });
  const one = found(client);
  expect(one.kind === 'principal' && one.principal.proof()).toEqual({ 'client-cert': clientCertOf(client) });
});

it.each([
  ['from a client', client, 'node-1', clientCertOf(client)],
  ['from a node by the name of another', node, 'node-2', clientCertOf(client)],
  ['with two certificates', node, 'node-1', [clientCertOf(client), clientCertOf(client)]],
  ['with none in it', node, 'node-1', ':aGVsbG8=:'],
  ['with an empty one', node, 'node-1', ''],
] as const)('a request that a node passes on is refused %s', (_what, shown, relayedBy, sent) => {
  expect(found(shown, { 'client-cert': sent, 'x-relayed': relayedBy }).kind).toBe('refused');
});

it('a request that a node passes on does not have any number of certificates kept', () => {
  const first = found(node, { 'client-cert': clientCertOf(client), 'x-relayed': 'node-1' });
  for (let n = 0; n < 1_000; n++) {
    // Another text of the same certificate.
    found(node, { 'client-cert': `${clientCertOf(client)}${':'.repeat(n + 1)}`, 'x-relayed': 'node-1' });
  }
  const again = found(node, { 'client-cert': clientCertOf(client), 'x-relayed': 'node-1' });
  expect(idOf(again)).toBe(idOf(first));
  expect(again.kind === 'principal' && first.kind === 'principal' && again.principal === first.principal).toBe(false);
});
