// Goal: keys are refused below the level that knows them and beyond the most that there may be, and a rotation that
// somebody else has overtaken is done anew on what is there. Method: the operations over a catalog made up.
import { expect, test } from 'vitest';
import { DatabaseError, LEVELS } from '#base';
import type { KeyOutcome } from '#cluster';
import type { ApiKey } from '#model';
import { issueApiKey, revokeApiKey, rotateApiKey } from '../../../src/service/access/api-keys.ts';
import type { ServiceContext } from '../../../src/service/context.ts';

const NOW_MS = 1_000_000;
const ID = '0123456789abcdef';
const { signal } = new AbortController();

interface World {
  readonly context: ServiceContext;
  readonly kept: ApiKey[];
}

function world({
  level = LEVELS.max,
  levelAtLeader = undefined as number | undefined,
  outcomes = [] as readonly KeyOutcome[],
  known = undefined as ApiKey | undefined,
} = {}): World {
  const kept: ApiKey[] = [];
  const left = [...outcomes];
  let current = known;
  const catalog = { level, apiKey: (id: string) => (id === current?.id ? current : undefined) };
  const node = {
    catalog,
    latest: async () => {
      catalog.level = levelAtLeader ?? level;
      return 0;
    },
    keepApiKey: async (key: ApiKey): Promise<KeyOutcome> => {
      kept.push(key);
      const outcome = left.shift() ?? { kind: 'key-kept', key };
      // Somebody else was first.
      if (outcome.kind === 'key-unmoved' && current !== undefined)
        current = { ...current, version: current.version + 1 };
      return outcome;
    },
    removeApiKey: async (id: string): Promise<KeyOutcome> => ({ kind: 'key-removed', id }),
  };
  let byte = 0;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(++byte) };
  const context: object = { node, random, clock: { nowMs: () => NOW_MS } };
  return { context: context as ServiceContext, kept };
}

const GRANTS = [{ role: 'reader', databases: '*' }] as const;
const KEY: ApiKey = {
  id: ID,
  version: 4,
  name: 'x',
  grants: GRANTS,
  createdAtMs: 1,
  createdBy: 'bootstrap',
  expiresAtMs: undefined,
  secrets: [
    { hash: new Uint8Array(32), createdAtMs: 2, expiresAtMs: undefined },
    { hash: new Uint8Array(32).fill(9), createdAtMs: 1, expiresAtMs: NOW_MS },
  ],
};
const unmoved = (isFull: boolean): KeyOutcome => ({ kind: 'key-unmoved', isFull });

async function reasonOf(work: Promise<unknown>): Promise<string | undefined> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return failure instanceof DatabaseError ? `${failure.code} ${failure.details.reason}` : String(failure);
}

test('a cluster that is not finalized keeps no keys, and says what to do', async () => {
  const { context, kept } = world({ level: 2 });
  const issuing = issueApiKey(context, { name: 'x', grants: GRANTS, signal });
  await expect(issuing).rejects.toThrow(/feature level 3 on, and this cluster is at 2: run cairn cluster finalize/);
  expect(await reasonOf(revokeApiKey(context, { id: ID, signal }))).toBe('unavailable LevelNotReached');
  expect(kept).toEqual([]);
});

test('keys that bound databases are kept from level 6 on, and others before', async () => {
  const { context, kept } = world({ level: 5 });
  const grants = [{ role: 'admin', databases: 'acme-*', databasesMax: 10 }] as const;
  const issuing = issueApiKey(context, { name: 'x', grants, signal });
  await expect(issuing).rejects.toThrow(/API keys that bound databases are kept from feature level 6 on/);
  await issueApiKey(context, { name: 'x', grants: GRANTS, signal });
  expect(kept.map((key) => key.grants)).toEqual([GRANTS]);
});

test('a node that has not applied the level yet asks for it before it refuses', async () => {
  const { context, kept } = world({ level: 2, levelAtLeader: LEVELS.max });
  await issueApiKey(context, { name: 'x', grants: GRANTS, signal });
  expect(kept.length).toBe(1);
});

test('a rotation keeps the secret of before for as long as it is asked, and none that has expired', async () => {
  const { context, kept } = world({ known: KEY });
  const { text } = await rotateApiKey(context, { id: ID, overlapSeconds: 5, signal });
  expect(text).toMatch(new RegExp(`^cairn_${ID}_`));
  const [latest, before] = kept[0]?.secrets ?? [];
  expect(kept[0]).toMatchObject({ version: 5, secrets: [{ createdAtMs: NOW_MS, expiresAtMs: undefined }, {}] });
  expect(before).toEqual({ ...KEY.secrets[0], expiresAtMs: NOW_MS + 5_000 });
  expect(latest?.hash).not.toEqual(before?.hash);
  await rotateApiKey(context, { id: ID, overlapSeconds: 0, signal });
  expect(kept[1]?.secrets.length).toBe(1);
});

test('a rotation that is overtaken is done on what is there then, a few times', async () => {
  const { context, kept } = world({ known: KEY, outcomes: [unmoved(false), unmoved(false)] });
  await rotateApiKey(context, { id: ID, overlapSeconds: 0, signal });
  expect(kept.map(({ version }) => version)).toEqual([5, 6, 7]);
  const endless = world({ known: KEY, outcomes: Array.from({ length: 9 }, () => unmoved(false)) });
  expect(await reasonOf(rotateApiKey(endless.context, { id: ID, overlapSeconds: 0, signal }))).toBe(
    'unavailable ApiKeyChanged',
  );
  expect(endless.kept.length).toBe(5);
});
