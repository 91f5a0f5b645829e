// Goal: a public PEM key that signs tokens is accepted with its algorithms; a key by name is asked for once (U5).
// Method: keys of every kind, and a server on loopback with given answers.
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { KeysByName, readPemKey } from '#auth';
import { DatabaseError } from '#base';
import { IdentityProvider } from '../../support/identity-provider.ts';
import { balancerKey } from '../../support/load-balancer.ts';

const publicPem = ({ publicKey }: KeyPairKeyObjectResult): string =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString();
const ec = (namedCurve: string): string => publicPem(generateKeyPairSync('ec', { namedCurve }));
const pair = generateKeyPairSync('ed25519');
const ed25519 = publicPem(pair);

test.each([
  ['P-256', ec('P-256'), 'ES256'],
  ['P-384', ec('P-384'), 'ES384'],
  ['P-521', ec('P-521'), 'ES512'],
  ['Ed25519', ed25519, 'EdDSA Ed25519'],
  ['RSA', publicPem(generateKeyPairSync('rsa', { modulusLength: 2048 })), 'RS256 RS384 RS512 PS256 PS384 PS512'],
  ['a curve of others', ec('secp256k1'), undefined],
  ['X25519', publicPem(generateKeyPairSync('x25519')), undefined],
  ['a private key', pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), undefined],
  ['two keys', ed25519 + ed25519, undefined],
  ['a key that is cut', ed25519.replace(/.{20}\n/, '\n'), undefined],
  ['a secret', 'c2VjcmV0', undefined],
  ['nothing', '', undefined],
])('%s is signed by so', (_what, pem, algorithms) => {
  const read = readPemKey(pem);
  expect(read.kind === 'ok' ? read.value.algorithms.join(' ') : undefined).toBe(algorithms);
});

describe('a key by name', async () => {
  const provider = await IdentityProvider.start();
  afterAll(() => provider[Symbol.asyncDispose]());
  const { pem } = balancerKey();
  let nowMs = 0;
  let keys: KeysByName;

  beforeEach(() => {
    provider.asked.length = 0;
    provider.answers.clear();
    provider.answers.set('/a', (_request, response) => response.end(pem));
    keys = new KeysByName(`${provider.issuer}/`, { monotonicMs: () => nowMs, onRead: () => undefined });
  });

  async function found(kid: string | undefined): Promise<string> {
    try {
      return (await keys.find({ alg: 'ES256', kid, others: {} })) === undefined ? 'none' : 'key';
    } catch (failure) {
      if (!(failure instanceof DatabaseError)) throw failure;
      return `${failure.details.reason}`;
    }
  }

  it('is read once, for all who wait', async () => {
    expect(await Promise.all([found('a'), found('a'), found('a')])).toEqual(['key', 'key', 'key']);
    expect(await found('a')).toBe('key');
    expect(provider.asked).toEqual(['/a']);
  });

  it('is asked for by its name alone', async () => {
    for (const kid of [undefined, '', '..', 'a/b', 'a?b', 'a%2fb', 'a#b', 'a'.repeat(65)]) {
      expect([kid, await found(kid)]).toEqual([kid, 'none']);
    }
    expect(provider.asked).toEqual([]);
  });

  it('that is not there is not asked for again for ten seconds, and others are read all the while', async () => {
    expect(await Promise.all([found('x'), found('x')])).toEqual(['none', 'none']);
    expect(await found('a')).toBe('key');
    nowMs += 9_999;
    expect(await found('x')).toBe('none');
    nowMs += 1;
    expect(await found('x')).toBe('none');
    expect(provider.asked).toEqual(['/x', '/a', '/x']);
  });

  it('is not requested for two seconds after a failed request', async () => {
    provider.answers.set('/a', (_request, response) => response.writeHead(500).end());
    expect(await found('a')).toBe('IdentityProviderUnavailable');
    nowMs += 1_999;
    expect([await found('a'), await found('b')]).toEqual(Array(2).fill('IdentityProviderUnavailable'));
    provider.answers.set('/a', (_request, response) => response.end('x'.repeat(20_000)));
    nowMs += 1;
    expect(await found('a')).toBe('IdentityProviderUnavailable');
    expect(provider.asked).toEqual(['/a', '/a']);
  });
});
