// Goal: a page that was kept for one is sent to no other who may not read it, and outlives no instance (SPEC-HTTP-R6,
// ADR 0145). Method: a real node; the same page in each rendering, by one key until it comes from memory, and then by
// others, with its tag and without; a key that is revoked; and the name for another instance.
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, uniqueName } from '../support/http-client.ts';

const { api, server } = await startGuardedNode();
const KEYS = '/api/v1/auth/keys';
const RENDERINGS = ['application/json', 'text/plain', 'text/html'] as const;
const SECRET = 'known-to-its-readers-alone';

type Headers = Readonly<Record<string, string>>;

async function create(name: string, data: string): Promise<void> {
  await api.post('/databases', { name }, AS_FIRST);
  await api.post(`/databases/${name}/events`, { events: [cloudEvent('a', { data })] }, AS_FIRST);
}

async function hits(): Promise<number> {
  const text = await (await fetch(server.metricsOfHttp)).text();
  return Number(/^cairn_http_page_cache_hits_total (\d+)$/m.exec(text)?.[1]);
}

/** Asks three times: the second answer is kept, the third is that one. */
async function keep(path: string, headers: Headers): Promise<Answer> {
  for (let time = 1; time <= 2; time++) await api.get(path, headers);
  return api.get(path, headers);
}

function refused(answer: Answer): readonly unknown[] {
  return [answer.status, answer.headers.get('etag'), answer.text.includes(SECRET), answer.headers.get('cache-control')];
}

describe.each(RENDERINGS)('SPEC-HTTP-R6: a kept page, as %s', (accept) => {
  it('is sent to those who may read it, and to nobody else, whatever tag they have', async () => {
    const name = uniqueName();
    await create(name, SECRET);
    const path = `/db/${name}/1/events`;
    const reader = await issueKey(api, `reader:${name}`);
    const kept = await keep(path, { ...reader.headers, accept });
    expect([kept.status, kept.text.includes(SECRET)]).toEqual([200, true]);
    const tag = kept.headers.get('etag') ?? '';
    const other = await issueKey(api, 'reader:other-*', 'admin:elsewhere');
    for (const held of [{}, { 'if-none-match': tag }, { 'if-none-match': '*' }]) {
      const asked = { accept, ...held };
      expect(refused(await api.get(path, { ...other.headers, ...asked }))).toEqual([403, null, false, null]);
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    }
    const also = await issueKey(api, `writer:${name}`);
    expect((await api.get(path, { ...also.headers, accept })).text).toBe(kept.text);
    expect((await api.get(path, { ...also.headers, accept, 'if-none-match': tag })).status).toBe(304);
    await api.send(`${KEYS}/${reader.id}`, { method: 'DELETE', headers: AS_FIRST });
    await eventually(async () => {
      const asked = { ...reader.headers, accept, 'if-none-match': tag };
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    });
  });

  it('is not that of another database under its name', async () => {
    const name = uniqueName();
    await create(name, SECRET);
    const path = `/db/${name}/1/events`;
    const asked = { ...AS_FIRST, accept };
    const kept = await keep(path, asked);
    const tag = kept.headers.get('etag') ?? '';
    await api.send(`/databases/${name}`, { method: 'DELETE', headers: AS_FIRST });
    expect(refused(await api.get(path, { ...asked, 'if-none-match': tag })).slice(0, 3)).toEqual([404, null, false]);
    await create(name, 'another');
    const answer = await api.get(path, { ...asked, 'if-none-match': tag });
    expect([answer.status, answer.text.includes(SECRET), answer.text.includes('another')]).toEqual([200, false, true]);
    expect(answer.headers.get('etag')).not.toBe(tag);
  });
});

it('SPEC-HTTP-R6: pages came from memory', async () => {
  // Of each rendering one for either test, and one for another key.
  await eventually(async () => expect(await hits()).toBe(RENDERINGS.length * 3));
});
