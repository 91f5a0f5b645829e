// Goal: administrators issue, list, rotate and revoke API keys over HTTP; a secret is shown once, a key does what its
// roles say until it expires or is revoked, on every interface, and outlives the node.
// Method: a real node with a first key, keys of each kind, and a restart.
import { describe, expect, it } from 'vitest';
import { AS_FIRST } from '../support/guarded-node.ts';
import { errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';

const { api } = await sharedGuardedNode();
const KEYS = '/api/v1/auth/keys';
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

interface Issued {
  readonly key: string;
  readonly id: string;
  readonly version?: number;
}

async function issue(body: object, headers = AS_FIRST): Promise<Issued> {
  const answer = await api.post(KEYS, { name: 'test', ...body }, headers);
  if (answer.status !== 201) throw new Error(answer.text);
  return jsonOf(answer) as Issued;
}

const asKey = ({ key }: Issued): Readonly<Record<string, string>> => ({ 'x-api-key': key });
const readStatus = async (issued: Issued): Promise<number> =>
  (await api.get(`/databases/${name}`, asKey(issued))).status;

describe('SPEC-AUTH-KEYS', () => {
  it('a key is issued with its secret, which no other answer has', async () => {
    const body = { name: 'ci of the shop', roles: ['writer:shop-*', 'reader'], expires_at: '2999-01-01T00:00:00Z' };
    const answer = await api.post(KEYS, body, AS_FIRST);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const issued = jsonOf(answer) as Issued;
    expect(issued).toEqual({
      key: expect.stringMatching(/^cairn_[\da-f]{16}_[\da-f]{72}$/),
      id: expect.stringMatching(/^[\da-f]{16}$/),
      name: 'ci of the shop',
      roles: ['writer:shop-*', 'reader'],
      created_at: expect.stringMatching(/^20\d\d-.*Z$/),
      created_by: 'bootstrap',
      expires_at: '2999-01-01T00:00:00Z',
      secrets: [{ created_at: expect.any(String) }],
    });
    expect(answer.headers.get('location')).toBe(`${KEYS}/${issued.id}`);
    const { key: _key, ...shown } = issued;
    expect(jsonOf(await api.get(`${KEYS}/${issued.id}`, AS_FIRST))).toEqual(shown);
    const list = await api.get(KEYS, AS_FIRST);
    expect((jsonOf(list) as { keys: unknown[] }).keys).toContainEqual(shown);
    expect(list.text).not.toContain(issued.key.slice(-72, -8));
    expect(list.headers.get('cache-control')).toBe('no-store');
  });

  it('a revoked key is refused at once, and cannot be revoked again', async () => {
    const issued = await issue({ roles: ['reader'] });
    expect(await readStatus(issued)).toBe(200);
    const revoked = await api.send(`${KEYS}/${issued.id}`, { method: 'DELETE', headers: AS_FIRST });
    expect(revoked.status).toBe(204);
    expect(await readStatus(issued)).toBe(401);
    for (const method of ['GET', 'DELETE']) {
      const again = await api.send(`${KEYS}/${issued.id}`, { method, headers: AS_FIRST });
      expect(errorOf(again).details?.reason).toBe('ApiKeyNotFound');
    }
  });

  it('a rotated key has two secrets for as long as it is asked for, and never three', async () => {
    const first = await issue({ roles: ['reader'] });
    const rotate = async (body: object): Promise<Issued> => {
      const answer = await api.post(`${KEYS}/${first.id}/rotate`, body, AS_FIRST);
      expect(answer.status).toBe(201);
      return jsonOf(answer) as Issued;
    };
    const second = await rotate({});
    expect(second.id).toBe(first.id);
    expect([await readStatus(first), await readStatus(second)]).toEqual([200, 200]);
    const third = await rotate({ overlap_seconds: 60 });
    expect([await readStatus(first), await readStatus(second), await readStatus(third)]).toEqual([401, 200, 200]);
    const fourth = await rotate({ overlap_seconds: 0 });
    expect([await readStatus(second), await readStatus(third), await readStatus(fourth)]).toEqual([401, 401, 200]);
  });

  it.each([
    [{}, ['roles']],
    [{ roles: ['reader', 'writer:Shop'] }, ['roles[1]']],
    [{ roles: ['reader'], name: 'a\nb' }, ['name']],
    [{ roles: ['reader'], expires_at: '2020-01-01T00:00:00Z' }, ['expires_at']],
    [{ roles: ['reader'], admin: true }, ['admin']],
    [{ roles: Array.from({ length: 33 }, () => 'reader') }, ['roles']],
  ])('%j is refused', async (body, fields) => {
    const failure = errorOf(await api.post(KEYS, { name: 'x', ...body }, AS_FIRST), {
      status: 400,
      code: 'INVALID_ARGUMENT',
    });
    expect(failure.details?.violations?.map(({ field }) => field)).toEqual(fields);
  });

  it('whoever does not administer all databases administers no key', async () => {
    const issued = await issue({ roles: [`admin:${name}`, 'reader', 'writer', 'deployer', 'admin:*-*'] });
    for (const [method, path] of [
      ['GET', KEYS],
      ['POST', KEYS],
      ['GET', `${KEYS}/${issued.id}`],
      ['POST', `${KEYS}/${issued.id}/rotate`],
      ['DELETE', `${KEYS}/${issued.id}`],
      ['DELETE', `${KEYS}/0000000000000000`],
    ] as const) {
      const body = method === 'POST' && path === KEYS ? { body: '{"name":"x","roles":["admin"]}' } : {};
      const answer = await api.send(path, { method, headers: asKey(issued), ...body });
      expect(errorOf(answer, { status: 403, code: 'PERMISSION_DENIED' }).message).toContain('on all databases');
    }
    const admin = await issue({ roles: ['admin'] });
    expect((await api.get(KEYS, asKey(admin))).status).toBe(200);
  });
});
