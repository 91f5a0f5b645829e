// Goal: an extractor of the administrator decides the principal, and sees only the headers that it names. Its faults
// refuse the request or leave it undecided, within a time limit, and are logged. Method: extractors with set answers.
import { describe, expect, it, test } from 'vitest';
import { customExtractor, type Found, type Principal } from '#auth';
import type { DatabaseError } from '#base';
import { formatGrant } from '#model';
import { credentialsOf } from '../../support/credentials.ts';

let faults: string[] = [];
let nowMs = 0;

function ask(
  extract: unknown,
  headers = {},
  named: { readonly inputs?: unknown } = { inputs: ['X-Badge'] },
): Found | Promise<Found> {
  faults = [];
  const parts = { nowMs: () => nowMs, onFault: (why: string) => faults.push(why), deadlineMs: 50 };
  const made = customExtractor({ ...named, extract }, parts);
  if (made.kind !== 'ok') throw new Error(made.reason);
  return made.value.extract(credentialsOf(headers));
}

async function principalOf(answer: unknown, headers = { 'x-badge': '7' }): Promise<Principal> {
  const found = await ask((seen: { values(name: string): unknown }) => {
    seen.values('X-Badge');
    return answer;
  }, headers);
  if (found.kind !== 'principal') throw new Error(`${found.kind} ${faults.join()}`);
  return found.principal;
}

const BADGE = { id: '7', roles: ['reader:shop-*'] };

describe('what it answers', () => {
  it('is a principal, by whose headers other nodes are asked', async () => {
    const principal = await principalOf({ ...BADGE, name: 'Ann', attributes: { floor: '3' } });
    const grants = principal.grants.map(formatGrant);
    expect([principal.id, principal.name, grants]).toEqual(['custom:7', 'Ann', ['reader:shop-*']]);
    expect(Object.fromEntries(principal.attributes)).toEqual({ floor: '3' });
    expect([principal.holds(), principal.proof()]).toEqual([true, { 'x-badge': '7' }]);
    expect(JSON.stringify(principal)).not.toContain('badge');
  });

  it('counts until it expires', async () => {
    nowMs = 10;
    const principal = await principalOf(Promise.resolve({ ...BADGE, expires_at_ms: 11 }));
    expect(principal.holds()).toBe(true);
    nowMs = 11;
    expect(principal.holds()).toBe(false);
    expect(await ask(() => ({ ...BADGE, expires_at_ms: 11 }))).toMatchObject({ kind: 'refused' });
  });

  it.each([undefined, null])('is nothing: %s', async (answer) => {
    expect(await ask(() => answer)).toEqual({ kind: 'nothing' });
    expect(await ask(async () => answer)).toEqual({ kind: 'nothing' });
    expect(faults).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ['a word', 'admin', /no object/],
    ['no id', { roles: [] }, /no id/],
    ['an id that nobody sees', { id: 'a\u0000', roles: [] }, /no id/],
    ['a long name', { ...BADGE, name: 'n'.repeat(256) }, /no id or name/],
    ['no roles', { id: '7' }, /no list roles/],
    ['a role that there is not', { id: '7', roles: ['king'] }, /no list roles/],
    ['too many roles', { id: '7', roles: Array.from({ length: 257 }, () => 'reader') }, /at most 256/],
    ['a time that is none', { ...BADGE, expires_at_ms: Number.NaN }, /no time/],
    ['a time in words', { ...BADGE, expires_at_ms: 'never' }, /no time/],
    ['an attribute that is no text', { ...BADGE, attributes: { floor: 3 } }, /attributes/],
    ['an attribute of another name', { ...BADGE, attributes: { 'a b': 'x' } }, /attributes/],
    ['another id as an attribute', { ...BADGE, attributes: { id: 'key:1' } }, /attributes/],
    [
      'what fails when it is read',
      {
        get id() {
          throw new Error('gone');
        },
      },
      /gone/,
    ],
  ])('is a fault when it has %s', async (_what, answer, why) => {
    for (const extract of [() => answer, async () => answer]) {
      expect(await ask(extract)).toMatchObject({ kind: 'refused' });
      expect(faults).toEqual([expect.stringMatching(why)]);
    }
  });

  it('is unavailable when it has not answered in time', async () => {
    const never = ask(() => new Promise(() => undefined));
    await expect(never).rejects.toMatchObject({ code: 'unavailable' } satisfies Partial<DatabaseError>);
    expect(faults).toEqual(['it has not answered within 50 ms']);
  });
});

test('an extractor that throws, at once or later, refuses the request', async () => {
  const thrown = (): never => {
    throw new Error('no badges today');
  };
  for (const extract of [thrown, async () => thrown(), () => Promise.reject(new Error('no badges today'))]) {
    expect(await ask(extract)).toMatchObject({ kind: 'refused', why: expect.not.stringContaining('badges') });
    expect(faults).toEqual(['no badges today']);
  }
});

test('it sees the headers that it has named, and all of them if it has named none', async () => {
  const seen: unknown[] = [];
  const looking = (headers: { values(name: string): unknown }): undefined => {
    seen.push(headers.values('x-badge'), headers.values('Cookie'));
  };
  await ask(looking, { 'x-badge': '7', cookie: 'c' });
  await ask(looking, { 'x-badge': '7', cookie: 'c' }, {});
  expect(seen).toEqual([['7'], [], ['7'], ['c']]);
});

test.each([
  [undefined, /has not given an object/],
  [{}, /no function/],
  [{ extract: 'me' }, /no function/],
  [{ extract: () => undefined, inputs: 'X-Badge' }, /no names of headers/],
  [{ extract: () => undefined, inputs: ['X Badge'] }, /no names of headers/],
  [{ extract: () => undefined, inputs: Array.from({ length: 17 }, () => 'a') }, /no names of headers/],
])('a module that gives %j makes none', (made, reason) => {
  const parts = { nowMs: () => 0, onFault: () => undefined };
  expect(customExtractor(made, parts)).toEqual({ kind: 'failure', reason: expect.stringMatching(reason) });
});
