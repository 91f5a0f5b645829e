// Goal: tokens end with the credential of whoever has issued them (V21), leave the catalog when they are past, and are
// refused beyond the most that there may be. Method: the operations over a catalog made up.
import { describe, expect, it } from 'vitest';
import { DatabaseError, LEVELS } from '#base';
import type { KeyOutcome } from '#cluster';
import type { ApiKey } from '#model';
import { issueToken } from '../../../src/service/access/tokens.ts';
import type { ServiceContext } from '../../../src/service/context.ts';

const NOW_MS = 1_000_000_000;
const GRANTS = [{ role: 'reader', databases: 'shop' }] as const;
const { signal } = new AbortController();

interface World {
  readonly context: ServiceContext;
  readonly keys: Map<string, ApiKey>;
  readonly removed: string[];
}

function world(known: readonly ApiKey[] = [], { level = LEVELS.max, isFull = false } = {}): World {
  const keys = new Map(known.map((key) => [key.id, key]));
  const removed: string[] = [];
  const node = {
    catalog: { level, apiKeys: () => [...keys.values()], apiKey: (id: string) => keys.get(id) },
    latest: async () => 0,
    keepApiKey: async (key: ApiKey): Promise<KeyOutcome> => {
      if (isFull) return { kind: 'key-unmoved', isFull };
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
  return { context: context as ServiceContext, keys, removed };
}

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

const asked = { name: 'agent', grants: GRANTS, lifeSeconds: 900, signal };

async function reasonOf(work: Promise<unknown>): Promise<string | undefined> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return failure instanceof DatabaseError ? `${failure.code} ${failure.details.reason}` : String(failure);
}

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

  it('that is past for a minute, or whose key is gone, leaves when another is issued, a few at a time', async () => {
    const past = [1, 2, 3].map((id) => tokenOf(id, { expiresAtMs: NOW_MS - 60_000 }));
    const others = [tokenOf(4, { expiresAtMs: NOW_MS - 59_999 }), tokenOf(5), tokenOf(6, { token: undefined })];
    const orphans = [7, 8, 9].map((id) => tokenOf(id, { token: { keyId: 'ffffffffffffffff' } }));
    const { context, removed } = world([...past, ...others, ...orphans]);
    await issueToken(context, asked);
    expect(removed).toEqual([1, 2, 3, 7].map((id) => tokenOf(id).id));
    await issueToken(context, asked);
    expect(removed.slice(4)).toEqual([8, 9].map((id) => tokenOf(id).id));
  });

  it('is no older than the secrets of its key, which another node may have made by its own clock', async () => {
    const secrets = [{ hash: new Uint8Array(32), createdAtMs: NOW_MS + 50, expiresAtMs: undefined }];
    const key = tokenOf(7, { token: undefined, expiresAtMs: undefined, secrets });
    const issued = await issueToken(world([key]).context, { ...asked, issuer: { id: 'key:7', keyId: key.id } });
    expect(issued.key).toMatchObject({ createdAtMs: NOW_MS + 50, expiresAtMs: NOW_MS + 900_000 });
  });

  it('is refused where there are as many as there may be, of all or of one issuer', async () => {
    expect(await reasonOf(issueToken(world([], { isFull: true }).context, asked))).toBe('too_large TooManyTokens');
    const own = Array.from({ length: 100 }, (_, id) => tokenOf(id));
    const byAnn = { ...asked, issuer: { id: 'oidc:ann' } };
    expect(await reasonOf(issueToken(world(own).context, byAnn))).toBe('too_large TooManyTokens');
    await issueToken(world(own).context, { ...asked, issuer: { id: 'oidc:bob' } });
    // What is past is none.
    await issueToken(world([...own.slice(1), tokenOf(0, { expiresAtMs: NOW_MS })]).context, byAnn);
  });

  it('is refused where the catalog cannot keep it', async () => {
    expect(await reasonOf(issueToken(world([], { level: 2 }).context, asked))).toBe('unavailable LevelNotReached');
    const long = { ...asked, issuer: { id: `certificate:${'x'.repeat(512)}` } };
    await expect(issueToken(world().context, long)).rejects.toMatchObject({
      details: { violations: [{ field: 'created_by' }] },
    });
  });
});
