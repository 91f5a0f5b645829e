// API keys over HTTP and gRPC can be issued, listed, rotated, revoked and can expire. Requests that carry a secret of
// the client can be repeated.
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { outcomeOf, type UnaryName } from '../support/grpc-client.ts';
import { AS_FIRST } from '../support/guarded-node.ts';
import { errorOf, HttpClient, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedGuardedNode, sharedServer } from '../support/shared-servers.ts';

const { server, api } = await sharedGuardedNode();
const { client } = server;
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
  it('a key is issued with its secret, and no other answer contains the secret', async () => {
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

  it('a rotated key has two secrets for the requested time, and never three', async () => {
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
});

interface Made {
  readonly id: string;
  readonly secret: string;
  readonly secretSha256: Buffer;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Makes an id and a secret in the way of a client (proto/cairn/v1/api_key.proto). */
function make(id = randomBytes(8).toString('hex')): Made {
  const secret = randomBytes(32).toString('hex');
  return { id, secret, secretSha256: sha256(secret) };
}

function headersOf({ id, secret }: Made): Readonly<Record<'x-api-key', string>> {
  const text = `cairn_${id}_${secret}`;
  return { 'x-api-key': `${text}${sha256(text).toString('hex').slice(0, 8)}` };
}

const asFirst = { metadata: AS_FIRST };
const NEVER = { expiresAt: undefined };
const YEAR_2999 = { seconds: 32_472_144_000, nanos: 0 };
const statusOf = async (made: Made): Promise<number> => (await api.get(`/databases/${name}`, headersOf(made))).status;
const outcome = (call: UnaryName, request: object): Promise<string> => outcomeOf(client.send(call, request, asFirst));

describe('SPEC-AUTH-KEYS over gRPC', () => {
  it('issues a key with its secret, and no other reply contains the secret', async () => {
    const request = { name: 'ci', roles: ['writer:shop-*', 'reader'], ...NEVER, id: '', secretSha256: Buffer.alloc(0) };
    const { apiKey, key } = await client.send('issueApiKey', request, asFirst);
    expect(apiKey).toMatchObject({ name: 'ci', roles: ['writer:shop-*', 'reader'], createdBy: 'bootstrap' });
    const id = apiKey?.id ?? '';
    expect(key).toMatch(new RegExp(`^cairn_${id}_[\\da-f]{72}$`));
    expect((await api.get(`/databases/${name}`, { 'x-api-key': key })).status).toBe(200);
    expect((await client.send('fetchApiKey', { id }, asFirst)).apiKey).toEqual(apiKey);
    expect((await client.send('listApiKeys', {}, asFirst)).apiKeys).toContainEqual(apiKey);
    const rotated = await client.send('rotateApiKey', { id, secretSha256: Buffer.alloc(0) }, asFirst);
    expect(rotated.key).toMatch(new RegExp(`^cairn_${id}_[\\da-f]{72}$`));
    expect(rotated.apiKey?.secrets.length).toBe(2);
  });

  it('repeats the issue of a key whose secret the caller has made, and refuses other content under its id', async () => {
    const made = make();
    const request = { name: 'ci', roles: ['reader', 'writer:shop'], expiresAt: YEAR_2999, ...made };
    const first = await client.send('issueApiKey', request, asFirst);
    expect([first.key, first.apiKey?.id, await statusOf(made)]).toEqual(['', made.id, 200]);
    expect(await client.send('issueApiKey', request, asFirst)).toEqual(first);
    const { apiKeys } = await client.send('listApiKeys', {}, asFirst);
    expect(apiKeys.filter(({ id }) => id === made.id)).toEqual([first.apiKey]);
    const { secretSha256 } = make();
    const others = [{ name: 'other' }, { roles: ['reader'] }, NEVER, { secretSha256 }];
    for (const other of others) {
      const found = await outcome('issueApiKey', { ...request, ...other });
      expect([other, found]).toEqual([other, 'ALREADY_EXISTS ApiKeyExists']);
    }
  });

  it('repeats a rotation to a secret that the caller has made, and does not return to an earlier one', async () => {
    const [first, second] = [make(), make()];
    const third = { ...make(), id: first.id };
    await client.send('issueApiKey', { name: 'ci', roles: ['reader'], ...NEVER, ...first }, asFirst);
    const request = { id: first.id, overlapSeconds: 60, secretSha256: second.secretSha256 };
    const rotated = await client.send('rotateApiKey', request, asFirst);
    expect(rotated.key).toBe('');
    expect(rotated.apiKey?.secrets.map(({ sha256: hash }) => hash)).toEqual([second.secretSha256, first.secretSha256]);
    expect(await client.send('rotateApiKey', request, asFirst)).toEqual(rotated);
    expect([await statusOf(first), await statusOf({ ...second, id: first.id })]).toEqual([200, 200]);
    const back = { ...request, secretSha256: first.secretSha256 };
    expect(await outcome('rotateApiKey', back)).toBe('ALREADY_EXISTS ApiKeyExists');
    await client.send('rotateApiKey', { ...request, overlapSeconds: 0, secretSha256: third.secretSha256 }, asFirst);
    // In runs with a cluster another node answers HTTP, and applies the rotation a moment later.
    await eventually(async () => {
      const statuses = [first, { ...second, id: first.id }, third].map(statusOf);
      expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
    });
  });

  it('lets a key expire at a time, which later requests can only make earlier, and removes it', async () => {
    const made = make();
    const { id } = made;
    await client.send('issueApiKey', { name: 'ci', roles: ['reader'], ...NEVER, ...made }, asFirst);
    const expiresAt = async (): Promise<unknown> =>
      (await client.send('fetchApiKey', { id }, asFirst)).apiKey?.expiresAt?.seconds;
    for (const [seconds, wanted] of [
      [YEAR_2999.seconds, YEAR_2999.seconds],
      [YEAR_2999.seconds + 1, YEAR_2999.seconds],
      [YEAR_2999.seconds - 1, YEAR_2999.seconds - 1],
    ] as const) {
      await client.send('revokeApiKey', { id, expiresAt: { seconds, nanos: 0 } }, asFirst);
      expect(await expiresAt()).toBe(wanted);
    }
    expect(await statusOf(made)).toBe(200);
    await client.send('revokeApiKey', { id, ...NEVER }, asFirst);
    // In runs with a cluster another node answers HTTP, and applies the removal a moment later.
    await eventually(async () => expect(await statusOf(made)).toBe(401));
    expect(await outcome('revokeApiKey', { id, ...NEVER })).toBe('NOT_FOUND ApiKeyNotFound');
  });

  it('is refused where callers are not authenticated, and so is HTTP', async () => {
    const open = await sharedServer();
    const made = { name: 'ci', roles: ['admin'], ...NEVER, ...make() };
    for (const [method, request] of [
      ['issueApiKey', made],
      ['listApiKeys', {}],
      ['rotateApiKey', made],
    ] as const) {
      const refused = await outcomeOf(open.client.send(method, request));
      expect([method, refused]).toEqual([method, 'PERMISSION_DENIED AuthenticationOff']);
    }
    const failure = errorOf(await new HttpClient(open.http).get(KEYS), { status: 403, code: 'PERMISSION_DENIED' });
    expect(failure.details?.reason).toBe('AuthenticationOff');
  });

  it.each<[string, UnaryName, object]>([
    ['name', 'issueApiKey', { name: '' }],
    ['roles', 'issueApiKey', { roles: [] }],
    ['roles[1]', 'issueApiKey', { roles: ['reader', 'king'] }],
    ['expires_at', 'issueApiKey', { expiresAt: { seconds: 1, nanos: 0 } }],
    ['id', 'issueApiKey', { id: 'ABCDEF0123456789' }],
    ['id', 'issueApiKey', { id: '' }],
    ['id', 'issueApiKey', { secretSha256: Buffer.alloc(0) }],
    ['secret_sha256', 'issueApiKey', { secretSha256: Buffer.alloc(31) }],
    ['secret_sha256', 'rotateApiKey', { secretSha256: Buffer.alloc(33) }],
    ['overlap_seconds', 'rotateApiKey', { overlapSeconds: 31_536_001 }],
    ['expires_at', 'revokeApiKey', { expiresAt: { seconds: 1, nanos: 0 } }],
  ])('names the field %s of %s that is malformed: %j', async (field, method, part) => {
    const { id, secretSha256 } = make();
    const request = { name: 'ci', roles: ['reader'], id, secretSha256, ...part };
    const failure = await client.send(method, request as never, asFirst).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: [field] });
  });
});
