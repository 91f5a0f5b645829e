// Goal: a key that a browser sends as a password is judged as in any other header, in one spelling, and no refusal
// shows it. Method: keys from a counted source of bytes, tables of spellings, and a chain that tells why.
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import {
  Authenticator,
  basicExtractor,
  bootstrapExtractor,
  type Credentials,
  type Extractor,
  issueKey,
  keyExtractor,
  type Principal,
  readBootstrapKey,
} from '#auth';
import { DatabaseError } from '#base';
import type { ApiKey } from '#model';
import { basic, credentialsOf } from '../../support/credentials.ts';

let counter = 0;
const random = (count: number): Uint8Array => new Uint8Array(count).map(() => (counter += 41) & 0xff);
const key = issueKey(random);
const unknown = issueKey(random);
const FIRST = 'first:key:of-the-tests-0123456789abcdef';
const known: ApiKey = {
  id: key.id,
  version: 1,
  name: 'ci',
  grants: [{ role: 'reader', databases: '*' }],
  createdAtMs: 5,
  createdBy: 'bootstrap',
  expiresAtMs: undefined,
  secrets: [{ hash: key.hash, createdAtMs: 5, expiresAtMs: undefined }],
};

function chainOf(refresh = async (): Promise<void> => undefined): readonly Extractor[] {
  const first = readBootstrapKey(FIRST);
  if (first.kind !== 'ok') throw new Error(first.reason);
  const find = (id: string): ApiKey | undefined => (id === known.id ? known : undefined);
  const keys = [bootstrapExtractor(() => first.value), keyExtractor({ find, refresh }, () => 0)];
  return [...keys, basicExtractor(keys)];
}

const chain = chainOf();

function sentBy(authorization: string): Credentials {
  return { ...credentialsOf({ authorization }), mayBeBrowser: true };
}

async function principalOf(credentials: Credentials): Promise<Principal> {
  return new Authenticator({ chain, onRefused: () => undefined }).identify(credentials);
}

it.each([
  ['with its name', basic('ci', key.text)],
  ['with any name', basic('Jürgen Ω', key.text)],
  ['with no name', basic('', key.text)],
  ['with a name of a different key', basic(unknown.id, key.text)],
  ['behind a scheme without case', basic('ci', key.text).replace('Basic', 'bASIC')],
  ['behind more blanks', basic('ci', key.text).replace(' ', '   ')],
])('a key as a password is that key %s', async (_how, authorization) => {
  expect((await principalOf(sentBy(authorization))).id).toBe(`key:${key.id}`);
});

it('a key as a password gives one principal whatever name is sent, of a browser, which other nodes know by the key', async () => {
  const one = await principalOf(sentBy(basic('a', key.text)));
  expect(await principalOf(sentBy(basic('b', key.text)))).toBe(one);
  expect([one.isOfBrowser, one.proof()]).toEqual([true, { authorization: `Bearer ${key.text}` }]);
  const other = await principalOf({ ...credentialsOf({ authorization: `Bearer ${key.text}` }), mayBeBrowser: true });
  expect([other.id, other.isOfBrowser]).toEqual([one.id, undefined]);
  expect(inspect(one, { depth: 9 }) + JSON.stringify(one)).not.toContain(key.text.slice(-20));
});

const encoded = (bytes: string | Uint8Array): string => `Basic ${Buffer.from(bytes).toString('base64')}`;
const PADDED = basic('c', key.text);

it.each([
  ['without a password', basic(key.text, '')],
  ['without a colon', encoded(key.text)],
  ['as nothing', 'Basic '],
  ['as a word', 'Basic'],
  ['in base64 without its padding', PADDED.replace(/=+$/, '')],
  ['in base64 with more of it', `${PADDED}=`],
  ['in base64 with bits to spare', PADDED.replace(/(.)(=+)$/, (_all, last: string, pad: string) => next(last) + pad)],
  ['in base64 of URLs', `Basic ${Buffer.from(`\u{3ff}\u{3ff}:${key.text}`).toString('base64url')}`],
  ['in no base64', 'Basic !!!!'],
  ['twice', `${basic('a', key.text)}, ${basic('a', key.text)}`],
  ['with something behind it', `${basic('a', key.text)} x`],
  ['with a blank before it', basic('a', ` ${key.text}`)],
  ['with a line behind it', basic('a', `${key.text}\n`)],
  ['with a zero in the name', basic('a\0', key.text)],
  ['in bytes that are no UTF-8', encoded(Buffer.concat([Buffer.of(0xff), Buffer.from(`:${key.text}`)]))],
  ['at great length', basic('a'.repeat(4_000), key.text)],
  ['as another word', basic('ci', 'swordfish')],
  ['unknown', basic('ci', unknown.text)],
  ['in another scheme', PADDED.replace('Basic', 'Digest')],
])('what is no key is refused %s, and is not repeated', async (_how, authorization) => {
  const told: string[] = [];
  const authenticator = new Authenticator({ chain, onRefused: (why) => told.push(why) });
  const failure = await (async () => authenticator.identify(sentBy(authorization)))().catch((cause: unknown) => cause);
  if (!(failure instanceof DatabaseError)) throw new Error(`not refused: ${inspect(failure)}`);
  expect(failure.details).toEqual({ reason: 'CredentialRefused' });
  const said = `${told.join()} ${failure.message}`;
  for (const secret of [key.text.slice(-16), 'swordfish', authorization.slice(6)].filter((each) => each.length > 4))
    expect(said).not.toContain(secret);
  expect(told).toHaveLength(1);
});

it('what is no key is what browsers send where none asks', async () => {
  for (const authorization of [PADDED, basic('root', FIRST)])
    await expect(principalOf(credentialsOf({ authorization }))).rejects.toThrow('is not valid');
});

it('a chain has a challenge for browsers where it takes what they send then', () => {
  const onRefused = (): void => undefined;
  const challenges = [chain, chain.slice(0, 2)].map(
    (each) => new Authenticator({ chain: each, onRefused }).challengeToBrowsers,
  );
  expect(challenges).toEqual(['Basic realm="cairn", charset="UTF-8"', undefined]);
});

/** The next digit of base64: its last bits are those that nobody reads. */
function next(digit: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return digits[digits.indexOf(digit) + 1] ?? '';
}
