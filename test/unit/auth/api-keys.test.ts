// Goal: an API key is what was issued and nothing near it, counts until it expires or is revoked, and shows its secret
// to nobody (U4). Method: keys from a counted source of bytes, tables of spellings, a clock that the test sets.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { bootstrapExtractor, issueKey, keyExtractor, type Principal, readBootstrapKey } from '#auth';
import { DatabaseError } from '#base';
import type { ApiKey } from '#model';
import { parseApiKey, secretHash } from '../../../src/auth/api-key.ts';
import { credentialsOf } from '../../support/credentials.ts';

let counter = 0;
const random = (count: number): Uint8Array => new Uint8Array(count).map(() => (counter += 37) & 0xff);
const key = issueKey(random);
const other = issueKey(random, key.id);
const GRANTS = [{ role: 'reader', databases: '*' }] as const;

it('the text of a key is read to what it was issued as', () => {
  expect(key.text).toMatch(/^cairn_[\da-f]{16}_[\da-f]{72}$/);
  expect(parseApiKey(key.text)).toEqual({ id: key.id, hash: key.hash });
  expect(other.id).toBe(key.id);
  expect(other.text).not.toBe(key.text);
});

it.each([
  ['in capitals', key.text.toUpperCase()],
  ['with a capital digit', key.text.replace(/[a-f](?=[\da-f]{9}$)/, (digit) => digit.toUpperCase())],
  ['behind a blank', ` ${key.text}`],
  ['before a blank', `${key.text} `],
  ['before a line', `${key.text}\n`],
  ['twice', `${key.text}, ${key.text}`],
  ['cut', key.text.slice(0, -1)],
  ['with a digit more', `${key.text}0`],
  ['with another check', key.text.replace(/.{8}$/, '00000000')],
  ['as nothing', ''],
])('the text of a key is no key %s', (_how, text) => {
  expect(text).not.toBe(key.text);
  expect(parseApiKey(text)).toBeUndefined();
});

async function extracted(
  known: ApiKey | undefined,
  headers: Record<string, string>,
  nowMs = 0,
  refresh = async (): Promise<void> => undefined,
): Promise<string> {
  const keys = { find: (id: string) => (id === known?.id ? known : undefined), refresh };
  const found = await keyExtractor(keys, () => nowMs).extract(credentialsOf(headers));
  return found.kind === 'principal' ? found.principal.id : found.kind;
}

const known = (more: Partial<ApiKey> = {}): ApiKey => ({
  id: key.id,
  version: 1,
  name: 'ci',
  grants: GRANTS,
  createdAtMs: 5,
  createdBy: 'bootstrap',
  expiresAtMs: undefined,
  secrets: [{ hash: key.hash, createdAtMs: 5, expiresAtMs: undefined }],
  ...more,
});

describe('a key in a request', () => {
  it.each([
    ['X-API-Key', { 'x-api-key': key.text }, `key:${key.id}`],
    ['Bearer', { authorization: `Bearer ${key.text}` }, `key:${key.id}`],
    ['bearer, for schemes have no case', { authorization: `bearer ${key.text}` }, `key:${key.id}`],
    ['no header', {}, 'nothing'],
    ['a token of somebody else', { authorization: 'Bearer ey.j.w' }, 'nothing'],
    ['another scheme', { authorization: `Basic ${key.text}` }, 'nothing'],
    ['a key without a scheme', { authorization: key.text }, 'nothing'],
    ['what is no key where keys stand', { 'x-api-key': 'secret' }, 'refused'],
    ['nothing where keys stand', { 'x-api-key': '' }, 'refused'],
    ['the secret of another', { 'x-api-key': other.text }, 'refused'],
    ['an id that there is not', { 'x-api-key': issueKey(random).text }, 'refused'],
    ['a wrong key beside a right one', { 'x-api-key': 'x', authorization: `Bearer ${key.text}` }, 'refused'],
  ])('by %s is found or refused', async (_how, headers, expected) => {
    expect(await extracted(known(), headers as unknown as Record<string, string>)).toBe(expected);
  });

  it('counts until its key or its secret expires, and both secrets do while it is rotated', async () => {
    const headers = { 'x-api-key': key.text };
    expect(await extracted(known({ expiresAtMs: 10 }), headers, 9)).toBe(`key:${key.id}`);
    expect(await extracted(known({ expiresAtMs: 10 }), headers, 10)).toBe('refused');
    const rotated = known({
      secrets: [
        { hash: other.hash, createdAtMs: 5, expiresAtMs: undefined },
        { hash: key.hash, createdAtMs: 5, expiresAtMs: 10 },
      ],
    });
    expect(await extracted(rotated, headers, 9)).toBe(`key:${key.id}`);
    expect(await extracted(rotated, headers, 10)).toBe('refused');
    expect(await extracted(rotated, { 'x-api-key': other.text }, 10)).toBe(`key:${key.id}`);
  });

  it('is looked for once more when it is not known here, where all is known that was acknowledged', async () => {
    let there: ApiKey | undefined;
    const keys = { find: () => there, refresh: async () => void (there = known()) };
    const extractor = keyExtractor(keys, () => 0);
    const found = await extractor.extract(credentialsOf({ 'x-api-key': key.text }));
    expect(found).toMatchObject({ kind: 'principal', principal: { id: `key:${key.id}` } });
    there = known({ secrets: [{ hash: other.hash, createdAtMs: 5, expiresAtMs: undefined }] });
    expect(await extractor.extract(credentialsOf({ 'x-api-key': key.text }))).toMatchObject({ kind: 'principal' });
    const refused = async (): Promise<void> => Promise.reject(new DatabaseError('unavailable', 'no leader'));
    await expect(extracted(undefined, { 'x-api-key': key.text }, 0, refused)).rejects.toThrow('no leader');
    // The expiry of a known key is decided without a read.
    expect(await extracted(known({ expiresAtMs: 1 }), { 'x-api-key': key.text }, 1, refused)).toBe('refused');
  });

  it('is of the same principal each time, who ends to count with the key', () => {
    let now: ApiKey | undefined = known();
    const extractor = keyExtractor({ find: () => now, refresh: async () => undefined }, () => 0);
    const ask = (): Principal => {
      const found = extractor.extract(credentialsOf({ 'x-api-key': key.text }));
      if (found instanceof Promise || found.kind !== 'principal') throw new Error('no principal');
      return found.principal;
    };
    const principal = ask();
    expect(ask()).toBe(principal);
    expect(principal.holds()).toBe(true);
    now = undefined;
    expect(principal.holds()).toBe(false);
    now = known({ grants: [] });
    expect(ask()).not.toBe(principal);
  });
});

describe('a token', () => {
  const token = known({ createdBy: 'key:0123456789abcdef', token: { keyId: '0123456789abcdef' }, expiresAtMs: 10 });
  const issuer: ApiKey = {
    ...known(),
    id: '0123456789abcdef',
    secrets: [{ hash: other.hash, createdAtMs: 5, expiresAtMs: undefined }],
  };
  const extractorOf = (...all: readonly ApiKey[]): ReturnType<typeof keyExtractor> =>
    keyExtractor({ find: (id) => all.find((each) => each.id === id), refresh: async () => undefined }, () => 9);
  const headers = credentialsOf({ authorization: `Bearer ${key.text}` });

  it('ends with the key that has issued it (V21)', async () => {
    const why = expect.stringMatching(/which is gone or has another secret$/);
    expect(await extractorOf(token).extract(headers)).toMatchObject({ kind: 'refused', why });
    const all = [token, issuer];
    const keys = { find: (id: string) => all.find((each) => each.id === id), refresh: async () => undefined };
    const kept = await keyExtractor(keys, () => 9).extract(headers);
    if (kept.kind !== 'principal') throw new Error('no principal');
    expect(kept.principal.holds()).toBe(true);
    all.pop();
    expect(kept.principal.holds()).toBe(false);
  });

  it('ends with the secret that it was issued with, and with none that is younger (V21)', async () => {
    const found = async (...secrets: ApiKey['secrets']): Promise<string> =>
      (await extractorOf(token, { ...issuer, secrets }).extract(headers)).kind;
    const [old, young] = [
      { hash: other.hash, createdAtMs: 4, expiresAtMs: undefined },
      { hash: other.hash, createdAtMs: 6, expiresAtMs: undefined },
    ];
    expect(await found(young, old)).toBe('principal');
    expect(await found(young, { ...old, expiresAtMs: 10 })).toBe('principal');
    expect(await found(young, { ...old, expiresAtMs: 9 })).toBe('refused');
    expect(await found(young)).toBe('refused');
  });
});

it('a principal shows no secret when it is printed (U4)', () => {
  const found = keyExtractor({ find: () => known(), refresh: async () => undefined }, () => 0).extract(
    credentialsOf({ 'x-api-key': key.text }),
  );
  const secret = key.text.slice(-72, -8);
  expect(inspect(found, { depth: 9, showHidden: true })).not.toContain(secret);
  expect(JSON.stringify(found)).not.toContain(secret);
});

describe('the first key', () => {
  const TEXT = 'correct-horse-battery-staple-0123456789';

  it('is one line of a file', () => {
    for (const content of [TEXT, `${TEXT}\n`, `${TEXT}\r\n`]) expect(readBootstrapKey(content).kind).toBe('ok');
    for (const content of ['', '\n', 'short', `${TEXT}\n${TEXT}`, ` ${TEXT}`, `${TEXT} x`]) {
      expect(readBootstrapKey(content)).toEqual({ kind: 'failure', reason: expect.not.stringContaining(TEXT) });
    }
  });

  it('is of an administrator, and another key may be one of the catalog', () => {
    const read = readBootstrapKey(TEXT);
    if (read.kind !== 'ok') throw new Error(read.reason);
    const extractor = bootstrapExtractor(() => read.value);
    expect(extractor.extract(credentialsOf({ 'x-api-key': TEXT }))).toMatchObject({
      principal: { id: 'bootstrap', grants: [{ role: 'admin', databases: '*' }] },
    });
    expect(extractor.extract(credentialsOf({ authorization: `Bearer ${TEXT}` }))).toMatchObject({ kind: 'principal' });
    for (const sent of [`${TEXT} `, TEXT.toUpperCase(), key.text, '']) {
      expect(extractor.extract(credentialsOf({ 'x-api-key': sent }))).toEqual({ kind: 'nothing' });
    }
  });

  it('that was replaced is refused and ends its streams, and the new one shows itself to other nodes', () => {
    const texts = [TEXT, TEXT.toUpperCase()] as const;
    const [old, next] = texts.map((text) => secretHash(text)) as [Uint8Array, Uint8Array];
    let used = old;
    const extractor = bootstrapExtractor(() => used);
    const principalOf = (text: string): Principal | undefined => {
      const found = extractor.extract(credentialsOf({ 'x-api-key': text }));
      return 'principal' in found ? found.principal : undefined;
    };
    const before = principalOf(texts[0]);
    expect([principalOf(texts[0]) === before, before?.holds(), principalOf(texts[1])]).toEqual([true, true, undefined]);
    used = next;
    const after = principalOf(texts[1]);
    expect([principalOf(texts[0]), before?.holds(), after?.holds()]).toEqual([undefined, false, true]);
    expect([principalOf(texts[1]) === after, after?.proof()]).toEqual([true, { 'x-api-key': texts[1] }]);
  });
});
