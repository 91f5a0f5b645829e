// Goal: API keys and tokens respect concurrent changes, expiry and limits (V21). Method: the functions
// of the service with a catalog in memory.
import { describe, expect, it, test } from 'vitest';
import type { DatabaseError } from '#base';
import type { KeyOutcome } from '#cluster';
import type { ApiKey } from '#model';
import { rotateApiKey } from '../../../src/service/access/api-keys.ts';
import { issueToken } from '../../../src/service/access/tokens.ts';
import type { ServiceContext } from '../../../src/service/context.ts';

const NOW_MS = 1_000_000_000;
const GRANTS = [{ role: 'reader', databases: '*' }] as const;
const { signal } = new AbortController();

interface World {
  readonly context: ServiceContext;
  readonly kept: ApiKey[];
  readonly removed: string[];
}

interface Refusals {
  readonly isFull: boolean;
  readonly unmoved: number;
}

/** A catalog that refuses the first `unmoved` writes, as if another request had changed the key before. */
function world(known: readonly ApiKey[] = [], { isFull = false, unmoved = 0 }: Partial<Refusals> = {}): World {
  const keys = new Map(known.map((key) => [key.id, key]));
  const [kept, removed]: [ApiKey[], string[]] = [[], []];
  const catalog = { apiKeys: () => [...keys.values()], apiKey: (id: string) => keys.get(id) };
  const node = {
    catalog,
    latest: async () => 0,
    keepApiKey: async (key: ApiKey): Promise<KeyOutcome> => {
      kept.push(key);
      const before = keys.get(key.id);
      if (kept.length <= unmoved && before !== undefined) keys.set(key.id, { ...before, version: before.version + 1 });
      if (isFull || kept.length <= unmoved) return { kind: 'key-unmoved', isFull };
      keys.set(key.id, key);
      return { kind: 'key-kept', key };
    },
    removeApiKey: async (id: string): Promise<KeyOutcome> => {
      removed.push(id);
      return keys.delete(id) ? { kind: 'key-removed', id } : { kind: 'key-unmoved', isFull: false };
    },
  };
  let byte = 100;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(++byte) };
  const context: object = { node, random, clock: { nowMs: () => NOW_MS } };
  return { context: context as ServiceContext, kept, removed };
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(String, (error: DatabaseError) => `${error.code} ${error.details.reason}`);

function tokenOf(id: number, more: Partial<ApiKey> = {}): ApiKey {
  return {
    id: id.toString(16).padStart(16, '0'),
    version: 1,
    name: `token ${id}`,
    grants: GRANTS,
    createdAtMs: 1,
    createdBy: 'oidc:ann',
    expiresAtMs: NOW_MS + 1,
    token: { keyId: undefined },
    secrets: [{ hash: new Uint8Array(32), createdAtMs: 1, expiresAtMs: undefined }],
    ...more,
  };
}

const SECRETS = [
  { hash: new Uint8Array(32), createdAtMs: 2, expiresAtMs: undefined },
  { hash: new Uint8Array(32).fill(9), createdAtMs: 1, expiresAtMs: NOW_MS },
];
const KEY = tokenOf(1, { version: 4, expiresAtMs: undefined, token: undefined, secrets: SECRETS });
const ID = KEY.id;

test('a rotation keeps the previous secret for the requested time, but no expired one', async () => {
  const { context, kept } = world([KEY]);
  const { text } = await rotateApiKey(context, { id: ID, overlapSeconds: 5, signal });
  expect(text).toMatch(new RegExp(`^cairn_${ID}_`));
  const [latest, before] = kept[0]?.secrets ?? [];
  expect(kept[0]).toMatchObject({ version: 5, secrets: [{ createdAtMs: NOW_MS, expiresAtMs: undefined }, {}] });
  expect(before).toEqual({ ...KEY.secrets[0], expiresAtMs: NOW_MS + 5_000 });
  expect(latest?.hash).not.toEqual(before?.hash);
  await rotateApiKey(context, { id: ID, overlapSeconds: 0, signal });
  expect(kept[1]?.secrets.length).toBe(1);
});

test('a rotation that conflicts with another change is repeated with the new state, a few times', async () => {
  const { context, kept } = world([KEY], { unmoved: 2 });
  await rotateApiKey(context, { id: ID, overlapSeconds: 0, signal });
  expect(kept.map(({ version }) => version)).toEqual([5, 6, 7]);
  const endless = world([KEY], { unmoved: 9 });
  const told = await reasonOf(rotateApiKey(endless.context, { id: ID, overlapSeconds: 0, signal }));
  expect(told).toBe('unavailable ApiKeyChanged');
  expect(endless.kept.length).toBe(5);
});

const asked = { name: 'agent', grants: GRANTS, lifeSeconds: 900, signal };

describe('a token', () => {
  it.each([
    [undefined, NOW_MS + 900_000],
    [NOW_MS + 1_000.5, NOW_MS + 1_000],
    [NOW_MS + 901_000, NOW_MS + 900_000],
    [Number.POSITIVE_INFINITY, NOW_MS + 900_000],
  ])('of a credential that expires at %s ends at %s (V21)', async (expiresAtMs, ends) => {
    const { context } = world();
    const { key } = await issueToken(context, { ...asked, issuer: { id: 'oidc:ann', expiresAtMs } });
    expect(key).toMatchObject({ createdBy: 'oidc:ann', expiresAtMs: ends, token: { keyId: undefined } });
  });

  it('that has expired a minute ago, or whose key was deleted, is removed when another is issued, a few at a time', async () => {
    const past = [1, 2, 3].map((id) => tokenOf(id, { expiresAtMs: NOW_MS - 60_000 }));
    const others = [tokenOf(4, { expiresAtMs: NOW_MS - 59_999 }), tokenOf(5), tokenOf(6, { token: undefined })];
    const orphans = [7, 8, 9].map((id) => tokenOf(id, { token: { keyId: 'ffffffffffffffff' } }));
    const { context, removed } = world([...past, ...others, ...orphans]);
    await issueToken(context, asked);
    expect(removed).toEqual([1, 2, 3, 7].map((id) => tokenOf(id).id));
    await issueToken(context, asked);
    expect(removed.slice(4)).toEqual([8, 9].map((id) => tokenOf(id).id));
  });

  it('is not older than the secrets of its key, which another node may have made by its own clock', async () => {
    const secrets = [{ hash: new Uint8Array(32), createdAtMs: NOW_MS + 50, expiresAtMs: undefined }];
    const key = tokenOf(7, { token: undefined, expiresAtMs: undefined, secrets });
    const issued = await issueToken(world([key]).context, { ...asked, issuer: { id: 'key:7', keyId: key.id } });
    expect(issued.key).toMatchObject({ createdAtMs: NOW_MS + 50, expiresAtMs: NOW_MS + 900_000 });
  });

  it('is refused when the limit of all tokens or of its issuer is reached', async () => {
    expect(await reasonOf(issueToken(world([], { isFull: true }).context, asked))).toBe('too_large TooManyTokens');
    const own = Array.from({ length: 100 }, (_, id) => tokenOf(id));
    const byAnn = { ...asked, issuer: { id: 'oidc:ann' } };
    expect(await reasonOf(issueToken(world(own).context, byAnn))).toBe('too_large TooManyTokens');
    await issueToken(world(own).context, { ...asked, issuer: { id: 'oidc:bob' } });
    await issueToken(world([...own.slice(1), tokenOf(0, { expiresAtMs: NOW_MS })]).context, byAnn);
  });

  it('is refused when the catalog cannot store it', async () => {
    const long = { ...asked, issuer: { id: `certificate:${'x'.repeat(512)}` } };
    await expect(issueToken(world().context, long)).rejects.toMatchObject({
      details: { violations: [{ field: 'created_by' }] },
    });
  });
});
