// Goal: an artifact is built once, and again when the file is not of this component, policy and limits (F3). Method: a
// real folder, a count of reads of the component, and files changed from outside.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ArtifactStore, CacheFolder } from '#components';
import { ARTIFACT_POLICY, DEFAULT_LIMITS } from '#wasm';
import { publish } from '../../../src/wasm/publishing/publish.ts';
import { hashingView, made, storeIn } from '../../support/components/views.ts';
import { filled } from '../../support/published.ts';
import { testDir } from '../../support/test-scope.ts';
import { LIMITED } from '../../support/wasm/executors.ts';

const FORM = { hasBatch: true, hasQuery: true };

describe('the artifacts of a node', { timeout: 60_000 }, () => {
  it('are built once for concurrent requests, and found by the next process', async () => {
    const path = testDir();
    const view = await hashingView(FORM);
    const store = await storeIn(path);
    const both = await Promise.all([store.artifact(view), store.artifact(view)]);
    expect(both[0]).toEqual(both[1]);
    expect(both[0]).toMatchObject({ value: { digest: view.digest, binding: { query: { name: 'query' } } } });
    expect(await (await storeIn(path)).artifact(view)).toEqual(both[0]);
    expect(view.asked).toBe(1);
  });

  it('are built again when the file is damaged, or of another policy', async () => {
    const path = testDir();
    const view = await hashingView(FORM);
    const first = made(await (await storeIn(path)).artifact(view));
    const name = readdirSync(path)[0] ?? '';
    const bytes = readFileSync(join(path, name));
    writeFileSync(join(path, name), bytes.fill((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1));
    expect(made(await (await storeIn(path)).artifact(view))).toEqual(first);
    const folder = await CacheFolder.open({ path, bytesMax: 1e7, memoryBytesMax: 0 });
    const other = first.bytes.slice();
    other[1] = ARTIFACT_POLICY + 1;
    await folder.put(name, other);
    expect(made(await (await storeIn(path)).artifact(view))).toEqual(first);
    await folder.put(
      name,
      made(await (await storeIn(testDir())).artifact(await hashingView({ ...FORM, hasQuery: false }))).bytes,
    );
    expect(made(await (await storeIn(path)).artifact(view))).toEqual(first);
    expect(view.asked).toBe(4);
  });

  it('are not kept in memory when they are only prepared, unless a call waits for them', async () => {
    const path = testDir();
    const view = await hashingView(FORM);
    const given: Uint8Array[] = [];
    const ready: string[] = [];
    const publisher = {
      publish: async (...asked: Parameters<typeof publish>): Promise<ReturnType<typeof publish>> => {
        const published = publish(...asked);
        if (published.kind === 'ok') given.push(published.value.artifact);
        return published;
      },
    };
    const store = async (): Promise<ArtifactStore> => {
      const folder = await CacheFolder.open({ path, bytesMax: 1e7, memoryBytesMax: 0 });
      const onReady = (each: string): unknown => ready.push(each);
      return new ArtifactStore(folder, publisher, { limits: DEFAULT_LIMITS, smoke: LIMITED, onReady });
    };
    const big = filled(await view.bytes(), new Uint8Array(100_000).fill(7));
    const digest = createHash('sha256').update(big).digest('hex');
    const component = { kind: 'state-view', digest, bytes: async () => big } as const;
    expect(await (await store()).prepare(component)).toMatchObject({ kind: 'ok' });
    expect(given.map(({ length }) => length)).toEqual([0]);
    const found = made(await (await store()).artifact(component));
    expect(found.bytes.length).toBeGreaterThan(100_000);
    expect(given.length).toBe(1);
    // One of the two calls runs the component, so that its artifact is kept.
    const other = await store();
    const bytes = filled(big, new Uint8Array(100_000));
    const second = { ...component, digest: createHash('sha256').update(bytes).digest('hex'), bytes: async () => bytes };
    const [, run] = await Promise.all([other.prepare(second), other.artifact(second)]);
    expect(made(run).bytes.length).toBeGreaterThan(200_000);
    // The first was built, then found by the next process; the second was built for both calls.
    expect(ready).toEqual([digest, digest, second.digest]);
    const broken = { ...component, digest: 'ab'.repeat(32), bytes: async () => new Uint8Array(8) };
    expect(await other.prepare(broken)).toMatchObject({ kind: 'failure' });
    expect(ready).toHaveLength(3);
  });

  it('are separate for other limits (F3)', async () => {
    const path = testDir();
    const view = await hashingView(FORM);
    const [one, other] = [await storeIn(path, 1000), await storeIn(path, 999)];
    const keys = [made(await one.artifact(view)).key, made(await other.artifact(view)).key];
    expect(new Set(keys).size).toBe(2);
    expect(view.asked).toBe(2);
  });

  it('are not built of bytes with another digest, nor of a refused component', async () => {
    const view = await hashingView(FORM);
    const store = await storeIn(testDir());
    expect(await store.artifact({ ...view, digest: '0'.repeat(64) })).toMatchObject({ reason: { kind: 'damaged' } });
    const refused = await store.artifact({ ...view, kind: 'presenter' });
    expect(refused).toMatchObject({ reason: { kind: 'refused', refusal: { code: 'MissingExport' } } });
  });
});
