// A page's tag gives no right to read it and belongs to one instance of the database (SPEC-HTTP-R6).
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, uniqueName } from '../support/http-client.ts';

const { api } = await startGuardedNode();
const KEYS = '/api/v1/auth/keys';
const SECRET = 'known-to-its-readers-alone';

async function create(name: string, data: string): Promise<void> {
  await api.post('/databases', { name }, AS_FIRST);
  await api.post(`/databases/${name}/events`, { events: [cloudEvent('a', { data })] }, AS_FIRST);
}

function refused(answer: Answer): readonly unknown[] {
  return [answer.status, answer.headers.get('etag'), answer.text.includes(SECRET), answer.headers.get('cache-control')];
}

describe.each(['application/json', 'text/plain', 'text/html'] as const)('SPEC-HTTP-R6: a page as %s', (accept) => {
  it('is sent only to principals that may read it, with every tag', async () => {
    const name = uniqueName();
    await create(name, SECRET);
    const path = `/db/${name}/1/events`;
    const reader = await issueKey(api, `reader:${name}`);
    const page = await api.get(path, { ...reader.headers, accept });
    expect([page.status, page.text.includes(SECRET)]).toEqual([200, true]);
    expect(page.headers.get('cache-control')).toBe('private, max-age=60');
    const vary = page.headers.get('vary')?.split(', ');
    expect(vary).toEqual(expect.arrayContaining(['Authorization', 'Cookie', 'X-API-Key']));
    const tag = page.headers.get('etag') ?? '';
    const other = await issueKey(api, 'reader:other-*', 'admin:elsewhere');
    for (const held of [{}, { 'if-none-match': tag }, { 'if-none-match': '*' }]) {
      const asked = { accept, ...held };
      expect(refused(await api.get(path, { ...other.headers, ...asked }))).toEqual([403, null, false, null]);
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    }
    const also = await issueKey(api, `writer:${name}`);
    expect((await api.get(path, { ...also.headers, accept })).text).toBe(page.text);
    expect((await api.get(path, { ...also.headers, accept, 'if-none-match': tag })).status).toBe(304);
    await api.send(`${KEYS}/${reader.id}`, { method: 'DELETE', headers: AS_FIRST });
    await eventually(async () => {
      const asked = { ...reader.headers, accept, 'if-none-match': tag };
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    });
  });

  it('has another tag after its database is created again', async () => {
    const name = uniqueName();
    await create(name, SECRET);
    const path = `/db/${name}/1/events`;
    const asked = { ...AS_FIRST, accept };
    const tag = (await api.get(path, asked)).headers.get('etag') ?? '';
    await api.send(`/databases/${name}`, { method: 'DELETE', headers: AS_FIRST });
    expect(refused(await api.get(path, { ...asked, 'if-none-match': tag })).slice(0, 3)).toEqual([404, null, false]);
    await create(name, 'another');
    const answer = await api.get(path, { ...asked, 'if-none-match': tag });
    expect([answer.status, answer.text.includes(SECRET), answer.text.includes('another')]).toEqual([200, false, true]);
    expect(answer.headers.get('etag')).not.toBe(tag);
  });
});
