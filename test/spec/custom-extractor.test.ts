// A custom extractor module decides the principal of a request, and the headers that it reads decide `vary` and
// `cache-control`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { tempDir } from '../support/temp-dir.ts';

const dir = tempDir();
afterAll(() => dir[Symbol.dispose]());
const name = uniqueName();

function moduleOf(file: string, inputs: string): string {
  const path = join(dir.path, file);
  writeFileSync(
    path,
    `export async function createExtractor() {
  return {
    ${inputs}
    extract(headers) {
      const [badge] = headers.values('x-badge');
      if (badge === 'broken') throw new Error('swordfish');
      return badge === '7' ? { id: badge, roles: ['reader:${name}'] } : undefined;
    },
  };
}
`,
  );
  return `--auth-extractor-module=${path}`;
}

const named = await startGuardedNode(moduleOf('named.mjs', `inputs: ['X-Badge'],`));
const silent = await startGuardedNode(moduleOf('silent.mjs', ''));
const BADGE = { 'x-badge': '7' };
for (const { api } of [named, silent]) await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

describe('SPEC-AUTH-EXTRACTOR', () => {
  it('a principal that it finds has the roles that it names, over HTTP and gRPC, and keys still count', async () => {
    expect(jsonOf(await named.api.get(`/databases/${name}`, BADGE))).toMatchObject({ name });
    const refused = errorOf(await named.api.send(`/databases/${name}`, { method: 'DELETE', headers: BADGE }));
    expect(refused.message).toContain('"7" (custom:7) lacks the right to administer');
    const { databases } = await named.server.client.send('fetchCatalog', {}, { metadata: BADGE });
    expect(databases.map((database) => database.name)).toEqual([name]);
    expect((await named.api.get(`/databases/${name}`, AS_FIRST)).status).toBe(200);
  });

  it('a caller that it does not find is refused like any other', async () => {
    for (const headers of [{ 'x-badge': '8' }, { 'x-badge': '7, 7' }, { 'x-badge': 'broken' }]) {
      const answer = await named.api.get(`/databases/${name}`, headers);
      const failure = errorOf(answer, { status: 401, code: 'UNAUTHENTICATED' });
      expect(failure.message).toBe('The credential of this request is not valid');
    }
    expect(errorOf(await named.api.get('/databases')).details?.reason).toBe('CredentialMissing');
  });

  it('private answers vary on the headers that it has named, and are no-store if it has named none (SPEC-HTTP-R6)', async () => {
    for (const headers of [BADGE, AS_FIRST] as unknown as readonly Record<string, string>[]) {
      const answer = await named.api.get(`/db/${name}/0`, headers);
      expect(answer.headers.get('cache-control')).toBe('private, max-age=60');
      expect(answer.headers.get('vary')?.split(', ')).toEqual(expect.arrayContaining(['X-Badge', 'Authorization']));
      const other = await silent.api.get(`/db/${name}/0`, headers);
      expect([other.status, other.headers.get('cache-control')]).toEqual([200, 'no-store']);
    }
  });

  it.each([
    ['absent.mjs', undefined, /cannot be loaded/],
    ['other.mjs', 'export const extract = 1;', /exports no function createExtractor/],
    ['throws.mjs', 'export function createExtractor() { throw new Error("no badges"); }', /no badges/],
  ])('a node does not start with %s', async (file, content, why) => {
    const path = join(dir.path, file);
    if (content !== undefined) writeFileSync(path, content);
    await expect(startGuardedNode(`--auth-extractor-module=${path}`)).rejects.toThrow(why);
  });
});
