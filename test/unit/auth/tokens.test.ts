// Goal: who a token is of follows from its claims, each judged; what was verified is not verified again until it
// expires or the keys are others (U5). Method: tables of claims, a source of one key, and a clock that the test sets.
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, it, test } from 'vitest';
import { type Found, oidcExtractor, readGrantsFile } from '#auth';
import { formatGrant } from '#model';
import { identityIn } from '../../../src/auth/identity-providers/identity.ts';
import { ASYMMETRIC, type KeySource } from '../../../src/auth/identity-providers/key-source.ts';
import { readTokenText } from '../../../src/auth/identity-providers/token-text.ts';
import { credentialsOf } from '../../support/credentials.ts';

const RULES = { prefix: 'oidc', rolesClaim: 'roles', grantsOfRoles: undefined };

function grantsIn(claims: object, rolesClaim = 'roles', grantsOfRoles = RULES.grantsOfRoles): string {
  const identity = identityIn({ sub: 'ann', ...claims }, { ...RULES, rolesClaim, grantsOfRoles });
  return identity.kind === 'refused' ? identity.why : identity.grants.map(formatGrant).join(' ');
}

it.each([
  [{ roles: ['reader:shop-*', 'admin'] }, 'roles', 'reader:shop-* admin'],
  [{ roles: 'reader:shop writer:bank' }, 'roles', 'reader:shop writer:bank'],
  [{ roles: ['reader', 'reader', 'offline_access', 'READER', 'reader:UP', 7, null, ['admin']] }, 'roles', 'reader'],
  [{}, 'roles', ''],
  [{ roles: { admin: true } }, 'roles', ''],
  [{ roles: true }, 'roles', ''],
  [{ 'https://shop.example/roles': ['reader'] }, 'https://shop.example/roles', 'reader'],
  [{ realm_access: { roles: ['writer'] } }, 'realm_access.roles', 'writer'],
  [{ 'realm_access.roles': ['reader'], realm_access: { roles: ['admin'] } }, 'realm_access.roles', 'reader'],
  [{ realm_access: 'admin' }, 'realm_access.roles', ''],
  [{ roles: ['admin'] }, '__proto__.roles', ''],
  [{ roles: ['admin'] }, 'constructor', ''],
])('the roles of a token %j by %s are %j', (claims, rolesClaim, expected) => {
  expect(grantsIn(claims, rolesClaim)).toBe(expected);
});

it('the roles of a token are what a file says of them, and nothing else then', () => {
  const read = readGrantsFile('{"clerks": ["writer:shop-*", "reader"], "reader": [], "__proto__": ["admin"]}');
  if (read.kind !== 'ok') throw new Error(read.reason);
  expect(grantsIn({ roles: ['clerks', 'admin', 'reader'] }, 'roles', read.value as never)).toBe('writer:shop-* reader');
  expect(grantsIn({ roles: ['toString', '__proto__'] }, 'roles', read.value as never)).toBe('admin');
});

test.each([
  ['[]', /must be an object/],
  ['{', /is no JSON/],
  ['{"a": "reader"}', /list of at most 32 grants.*for "a"/],
  ['{"a": ["reader", "king"]}', /for "a"/],
  [JSON.stringify({ a: Array.from({ length: 33 }, () => 'reader') }), /at most 32/],
  [JSON.stringify(Object.fromEntries(Array.from({ length: 1_001 }, (_, each) => [`r${each}`, []]))), /1000 roles/],
])('a file of grants that is %s is refused', (content, reason) => {
  expect(readGrantsFile(content)).toEqual({ kind: 'failure', reason: expect.stringMatching(reason) });
});

it.each([
  [{}, 'ann', { sub: 'ann' }],
  [{ email: 'a@b.example', name: 'Ann B' }, 'a@b.example', { sub: 'ann', email: 'a@b.example' }],
  [{ email: 'a@b.example', email_verified: false, name: 'Ann B' }, 'Ann B', { sub: 'ann' }],
  [
    { preferred_username: 'annb', iss: 'https://i', azp: 'web', phone: '1' },
    'annb',
    { sub: 'ann', iss: 'https://i', azp: 'web', preferred_username: 'annb' },
  ],
  [{ email: 'a\nb', preferred_username: '\ud800', name: 'x'.repeat(1_025), iss: 7 }, 'ann', { sub: 'ann' }],
])('who a token is of with %j is called %s', (claims, name, attributes) => {
  const identity = identityIn({ sub: 'ann', ...claims }, RULES);
  if (identity.kind === 'refused') throw new Error(identity.why);
  expect([identity.id, identity.name]).toEqual(['oidc:ann', name]);
  expect(Object.fromEntries(identity.attributes)).toEqual(attributes);
});

test.each([
  ['', 'e30', 's'],
  ['e30', 'e30', 's'],
  ['eyJhbGciOiJFUzI1NiJ9', '', 's'],
  ['eyJhbGciOiJFUzI1NiJ9', 'W10', 's'],
  ['eyJhbGciOiJFUzI1NiJ9', 'e30', 's.s.s'],
  ['eyJhbGciOjd9', 'e30', 's'],
  [part({ alg: 'ES256', kid: 'x'.repeat(257) }), 'e30', 's'],
  [part({ alg: 'ES256', kid: 'a b' }), 'e30', 's'],
  [part({ alg: 'ES256', kid: ['a'] }), 'e30', 's'],
  [part({ alg: 'ES256', kid: null }), 'e30', 's'],
  ['eyJhbGciOiJFUzI1NiJ9', part({ long: 'x'.repeat(16_384) }), 's'],
  ['eyJhbGciOiJFUzI1NiJ9', Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url'), 's'],
])('%s.%s.%s is no token', (...parts) => {
  expect(readTokenText(parts.join('.'))).toBeUndefined();
  expect(readTokenText(`${part({ alg: 'ES256', kid: 'a' })}.e30.s`)?.header.kid).toBe('a');
});

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

describe('a token that was verified', () => {
  const ISSUER = 'https://issuer.example';
  const EXPIRES_S = 2_000;

  async function world(): Promise<{
    readonly ask: () => Found | Promise<Found>;
    readonly found: { count: number; version: number };
    readonly time: { nowMs: number };
  }> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const found = { count: 0, version: 1 };
    const time = { nowMs: 1_000_000 };
    const keys: KeySource = {
      algorithms: ASYMMETRIC,
      get version() {
        return found.version;
      },
      find: async () => {
        found.count++;
        return publicKey;
      },
    };
    const roles = { rolesClaim: 'roles', grantsOfRoles: undefined };
    const extractor = oidcExtractor({ keys, issuer: ISSUER, audiences: ['me'], roles, nowMs: () => time.nowMs });
    const claims: JWTPayload = { iss: ISSUER, aud: 'me', sub: 'ann', exp: EXPIRES_S };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    return { ask: () => extractor.extract(credentialsOf({ authorization: `Bearer ${token}` })), found, time };
  }

  it('is answered at once, with the same principal, until it expires', async () => {
    const { ask, found, time } = await world();
    const first = await ask();
    const again = ask();
    if (again instanceof Promise || first.kind !== 'principal' || again.kind !== 'principal')
      throw new Error('refused');
    expect(again.principal).toBe(first.principal);
    expect(found.count).toBe(1);
    expect(first.principal.proof()['authorization']).toMatch(/^Bearer ey/);
    // Ten seconds are for clocks that differ.
    time.nowMs = (EXPIRES_S + 10) * 1_000 - 1;
    expect([first.principal.holds(), (await ask()).kind]).toEqual([true, 'principal']);
    time.nowMs++;
    expect([first.principal.holds(), (await ask()).kind]).toEqual([false, 'refused']);
    expect(found.count).toBe(1);
  });

  it('is verified again when its issuer has other keys', async () => {
    const { ask, found } = await world();
    await ask();
    found.version++;
    expect(ask()).toBeInstanceOf(Promise);
    expect(await ask()).toMatchObject({ kind: 'principal' });
    expect(found.count).toBe(3);
  });

  it.each([undefined, '', 7, 'x'.repeat(256), 'a\u0000b', '\udc00'])('with the sub %j is refused', (sub) => {
    expect(identityIn({ sub }, RULES)).toMatchObject({ kind: 'refused' });
  });
});
