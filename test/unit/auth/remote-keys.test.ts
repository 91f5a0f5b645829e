// Goal: keys of a provider are read within bounds, seldom, and count no longer than they may; what cannot be known is
// said to be so (U5). Method: a provider on loopback that answers as a test says, and a clock that the test sets.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RemoteKeys } from '#auth';
import { DatabaseError } from '#base';
import { IdentityProvider, sendJson } from '../../support/identity-provider.ts';

const provider = await IdentityProvider.start();
afterAll(() => provider[Symbol.asyncDispose]());

const MINUTE = 60_000;
let nowMs = 0;
let reads: string[] = [];

beforeEach(() => {
  provider.answers.clear();
  provider.asked.length = 0;
  nowMs = 1_000;
  reads = [];
});

function keysOf(place: ConstructorParameters<typeof RemoteKeys>[0]): RemoteKeys {
  return new RemoteKeys(place, { monotonicMs: () => nowMs, onRead: (_url, why) => reads.push(why ?? 'read') });
}

const byUrl = (): RemoteKeys => keysOf({ kind: 'keys', url: new URL(provider.jwksUrl) });
const byIssuer = (): RemoteKeys => keysOf({ kind: 'issuer', issuer: provider.issuer });

async function found(keys: RemoteKeys, kid: string | undefined, alg = 'ES256'): Promise<string> {
  try {
    return (await keys.find({ alg, kid, others: {} })) === undefined ? 'none' : 'key';
  } catch (failure) {
    if (!(failure instanceof DatabaseError)) throw failure;
    return `${failure.code} ${failure.details.reason}`;
  }
}

const UNTOLD = 'unavailable IdentityProviderUnavailable';
const down = (): void => void provider.answers.set('/keys', (_request, response) => response.writeHead(500).end());

describe('keys', () => {
  it('are found at a URL, and where the configuration of an issuer says', async () => {
    await provider.rotate('a');
    expect(await found(byUrl(), 'a')).toBe('key');
    expect(await found(byUrl(), undefined)).toBe('key');
    expect(await found(byUrl(), 'a', 'RS256')).toBe('none');
    expect(provider.asked.filter((path) => path !== '/keys')).toEqual([]);
    expect(await found(byIssuer(), 'a')).toBe('key');
    expect(provider.asked.slice(-2)).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it('are read again for one that is not known, once in ten seconds, whatever is asked', async () => {
    await provider.rotate('a');
    const keys = byUrl();
    expect(await found(keys, 'a')).toBe('key');
    await provider.rotate('b');
    expect(await found(keys, 'b')).toBe('none');
    for (let each = 0; each < 20; each++) expect(await found(keys, `c${each}`)).toBe('none');
    expect(reads).toHaveLength(1);
    const { version } = keys;
    nowMs += 10_000;
    expect(await found(keys, 'b')).toBe('key');
    expect(keys.version).not.toBe(version);
    expect(await found(keys, 'a')).toBe('none');
    expect(reads).toEqual(['read', 'read']);
  });

  it('are read again meanwhile when they have aged, and then those that are gone do not count', async () => {
    await provider.rotate('a');
    const keys = byUrl();
    expect(await found(keys, 'a')).toBe('key');
    await provider.rotate('b');
    nowMs += 5 * MINUTE + 1;
    const { version } = keys;
    await expect.poll(() => reads).toEqual(['read', 'read']);
    expect(keys.version).toBe(version + 1);
    expect(await found(keys, 'a')).toBe('none');
    expect(reads).toHaveLength(2);
  });

  it('are used for an hour while the provider is down, and are unavailable then', async () => {
    await provider.rotate('a');
    const keys = byUrl();
    expect(await found(keys, 'a')).toBe('key');
    down();
    nowMs += 59 * MINUTE;
    expect(await found(keys, 'a')).toBe('key');
    await expect.poll(() => reads.length).toBe(2);
    // One that is not there may have been made since.
    expect(await found(keys, 'b')).toBe(UNTOLD);
    const { version } = keys;
    nowMs += 2 * MINUTE;
    expect(keys.version).not.toBe(version);
    expect(await found(keys, 'a')).toBe(UNTOLD);
    provider.answers.clear();
    nowMs += 2_000;
    expect(await found(keys, 'a')).toBe('key');
  });

  it('are not asked for again for two seconds where there was no answer', async () => {
    await provider.rotate('a');
    down();
    const keys = byUrl();
    for (let each = 0; each < 5; each++) expect(await found(keys, 'a')).toBe(UNTOLD);
    expect(provider.asked).toEqual(['/keys']);
    nowMs += 2_000;
    expect(await found(keys, 'a')).toBe(UNTOLD);
    expect(provider.asked).toHaveLength(2);
  });
});

describe('an answer that is none', () => {
  const PUBLIC = { kty: 'EC', crv: 'P-256', kid: 'a' };
  it.each<[string, Parameters<typeof provider.answers.set>[1], RegExp]>([
    [
      'redirects to another place',
      (_request, response) => response.writeHead(302, { location: `${provider.issuer}/other` }).end(),
      /answered 302/,
    ],
    [
      'has 10 MiB',
      (_request, response) => {
        response.writeHead(200);
        response.end(`{"keys":[${' '.repeat(10 * 2 ** 20)}]}`);
      },
      /longer than 262144 bytes/,
    ],
    ['is no JSON', (_request, response) => response.end('<html>'), /JSON/],
    ['is no set of keys', (_request, response) => sendJson(response, { keys: 'none' }), /no set of keys/],
    ['is of nobody', (request) => request.socket.destroy(), /socket hang up/],
  ])('%s', async (_what, answer, why) => {
    provider.answers.set('/keys', answer);
    expect(await found(byUrl(), 'a')).toBe(UNTOLD);
    expect(reads).toEqual([expect.stringMatching(why)]);
    expect(provider.asked).not.toContain('/other');
  });

  it('a key that is not public, and one that is shared, is no key', async () => {
    const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
    const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';
    provider.publish([
      { ...PUBLIC, x, y, d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'shared' },
    ]);
    expect(await found(byUrl(), 'a')).toBe('none');
    expect(await found(byUrl(), 'shared', 'HS256')).toBe('none');
  });

  it.each([
    [{ issuer: 'http://other.example', jwks_uri: provider.jwksUrl }, /another issuer/],
    [{ issuer: provider.issuer }, /no jwks_uri/],
    [{ issuer: provider.issuer, jwks_uri: '/keys' }, /no jwks_uri/],
    [{ issuer: provider.issuer, jwks_uri: 'file:///etc/passwd' }, /of file:, which is not asked/],
    [[], /no JSON object/],
  ])('a configuration of %j is refused', async (configuration, why) => {
    provider.answers.set('/.well-known/openid-configuration', (_request, response) =>
      sendJson(response, configuration),
    );
    expect(await found(byIssuer(), 'a')).toBe(UNTOLD);
    expect(reads).toEqual([expect.stringMatching(why)]);
    expect(provider.asked).not.toContain('/keys');
  });
});
