// Goal: the audit record of an admin request names the client certificate, also one with several common names. Method:
// issued certificates.
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { askerOf } from '../../../../src/transport/peer/peer-methods.ts';
import { Authority } from '../../../support/certificates.ts';

const AUTHORITY = new Authority();
const CLIENT = { host: '127.0.0.1', port: 4 };
const ADDRESS = '127.0.0.1:4';

function askedWith(cn: string | readonly string[]): ReturnType<typeof askerOf> {
  return askerOf({ client: CLIENT, certificate: new X509Certificate(AUTHORITY.issue({ cn }).cert) });
}

it('a client is named by all common names of its certificate', () => {
  expect(askedWith('operator')).toEqual({ address: ADDRESS, certificate: 'operator' });
  expect(askedWith(['operator', 'node-2'])).toEqual({ address: ADDRESS, certificate: 'operator, node-2' });
});

it('a client without a certificate is named by its address', () => {
  expect(askerOf({ client: CLIENT, certificate: undefined })).toEqual({ address: ADDRESS });
});
