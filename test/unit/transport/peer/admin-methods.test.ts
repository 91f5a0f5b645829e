// The record of an operator's order names who showed its certificate, also one with several common names.
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { askerOf } from '../../../../src/transport/peer/admin-methods.ts';
import { Authority } from '../../../support/certificates.ts';

const AUTHORITY = new Authority();
const ADDRESS = '127.0.0.1:4';

function askedWith(cn: string | readonly string[]): ReturnType<typeof askerOf> {
  const sslPeerCertificate = new X509Certificate(AUTHORITY.issue({ cn }).cert).toLegacyObject();
  return askerOf({ getPeer: () => ADDRESS, getAuthContext: () => ({ sslPeerCertificate }) });
}

it('who asks is named by the common names of his certificate, by all that it has', () => {
  expect(askedWith('operator')).toEqual({ address: ADDRESS, certificate: 'operator' });
  expect(askedWith(['operator', 'node-2'])).toEqual({ address: ADDRESS, certificate: 'operator, node-2' });
});

it('who asks without a certificate is named by his address', () => {
  expect(askerOf({ getPeer: () => ADDRESS, getAuthContext: () => ({}) })).toEqual({ address: ADDRESS });
});
