// Credentials and event data appear in no log, audit record, metric or span, and keys are not on the disk.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, describe, expect, it } from 'vitest';
import { startNode } from '../../chaos/support/node-process.ts';
import { basic } from '../support/credentials.ts';
import { TestClient } from '../support/grpc-client.ts';
import { cloudEvent, HttpClient, jsonOf } from '../support/http-client.ts';
import { AUDIENCE, IdentityProvider, unsignedToken } from '../support/identity-provider.ts';
import { INITIALIZE, send } from '../support/mcp-requests.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { tempDir } from '../support/temp-dir.ts';

const FIRST = 'first-key-sesame-0123456789abcdefghij';
const DATA = 'data-sesame-of-an-event';
const KEYS = '/api/v1/auth/keys';
/** Limit for the start of a process on a busy machine. */
const PROCESS_MS = 60_000;

const dir = tempDir();
const provider = await IdentityProvider.start();
const receiver = await startOtlpReceiver();
const files = { key: join(dir.path, 'first-key'), audit: join(dir.path, 'audit.jsonl'), data: join(dir.path, 'data') };
writeFileSync(files.key, FIRST);
const node = await startNode({
  dataDir: files.data,
  ports: ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0'],
  settings: [
    '--auth=on',
    `--auth-bootstrap-key-file=${files.key}`,
    '--auth-basic=on',
    `--audit-log=${files.audit}`,
    '--log-level=debug',
    `--otlp-endpoint=${receiver.endpoint}`,
    '--trace-sample-ratio=1',
    `--oidc-issuer=${provider.issuer}`,
    `--oidc-audience=${AUDIENCE}`,
    '--signed-header=X-Signed-Identity',
    `--signed-header-keys=${provider.jwksUrl}`,
    `--signed-header-issuer=${provider.issuer}`,
    `--signed-header-audience=${AUDIENCE}`,
  ],
});
const api = new HttpClient(node.http);
const client = new TestClient(node.grpc);
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  node.kill('SIGKILL');
  await Promise.all([node.ended, provider[Symbol.asyncDispose](), receiver[Symbol.asyncDispose]()]);
  dir[Symbol.dispose]();
});

type Headers = Readonly<Record<string, string>>;

const secrets = new Map<string, string>([
  ['the first key', FIRST],
  ['data', DATA],
]);

function secret(what: string, value: string): string {
  secrets.set(what, value);
  return value;
}

async function credentials(): Promise<readonly Headers[]> {
  const first = { 'x-api-key': FIRST };
  const issued = jsonOf(await api.post(KEYS, { name: 'ci', roles: ['admin'] }, first)) as Record<'id' | 'key', string>;
  const rotated = jsonOf(await api.post(`${KEYS}/${issued.id}/rotate`, {}, first)) as Record<'key', string>;
  const given = { name: 'agent', roles: ['reader'], expires_in_seconds: 60 };
  const token = jsonOf(await api.post('/api/v1/auth/tokens', given, first)) as Record<'token', string>;
  const tokens = {
    'a token of the provider': await provider.token({ roles: ['admin'] }),
    'one that has expired': await provider.token({ exp: 1_000 }),
    'one for somebody else': await provider.token({ aud: 'others' }),
    'one that nobody has signed': unsignedToken({ alg: 'none' }, { iss: provider.issuer }, 'signature-sesame'),
    'what is no token': 'no.token-sesame.at-all',
    'the token of an agent': token.token,
    'a wrong key as a token': 'wrong-bearer-sesame',
  };
  const bearers = Object.entries(tokens).flatMap(([what, each]) => [
    { authorization: `Bearer ${secret(what, each)}` },
    { 'x-signed-identity': each },
  ]);
  const passwords = [secret('a wrong password', 'password-sesame'), issued.key, token.token];
  return [
    first,
    { 'x-api-key': secret('a key', issued.key) },
    { 'x-api-key': secret('the key behind it', rotated.key) },
    { 'x-api-key': secret('a wrong key', `${issued.key.slice(0, -8)}sesame12`) },
    { 'x-api-key': secret('a malformed key', 'malformed key, sesame; "or" not') },
    ...bearers,
    ...passwords.map((each) => ({ authorization: basic('ann', each) })),
    { authorization: `Basic ${secret('what is not Basic', 'c2VzYW1lIQ!!')}` },
    { authorization: `Digest ${secret('an answer to Digest', 'username="ann", response="digest-sesame"')}` },
    { cookie: `session=${secret('a cookie', 'cookie-sesame')}` },
  ];
}

async function askEverything(headers: Headers, number: number): Promise<void> {
  const name = `shop-${number}`;
  await api.post('/api/v1/db', { database_name: name }, headers);
  await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { data: DATA })] }, headers);
  await api.post(`/api/v1/db/${name}`, { events: [{ id: DATA, unheard: DATA }] }, headers);
  await api.post(`/api/v1/db/${name}`, `{"events": ["${DATA}`, headers);
  await api.get(`/db/${name}/latest/events`, headers);
  await api.get(`/nowhere/${DATA}`, headers);
  await api.send(`/api/v1/db/${name}`, { method: 'PATCH', headers });
  for (const each of Object.values(headers)) {
    const text = encodeURIComponent(each);
    await api.get(`/databases?access_token=${text}&x-api-key=${text}`, headers);
    await api.get(`/databases/${text}?key=${text}`);
    await api.post(KEYS, { name: 'ci', roles: [each], [each]: each }, headers);
  }
  const metadata = headers;
  await client.call('fetchCatalog', {}, { metadata }).catch(() => undefined);
  const events = [{ id: DATA, source: DATA, specVersion: DATA, type: DATA, attributes: {} }];
  await client.call('transact', { databaseName: name, events } as never, { metadata }).catch(() => undefined);
  await send(node.mcp, INITIALIZE, headers);
  await send(node.mcp, { jsonrpc: DATA, method: DATA }, headers);
}

async function askByMcp(key: string): Promise<void> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const agent = new Client({ name: 'test', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(node.mcp), { requestInit }));
  const ask = (given: Record<string, unknown>): Promise<unknown> =>
    agent.callTool({ name: 'fetch', arguments: given }).catch(() => undefined);
  await ask({ path: `/databases?${DATA}=1` });
  await ask({ path: '/databases', headers: { 'x-api-key': DATA } });
  const issued = JSON.stringify(await ask({ path: KEYS, method: 'POST', body: { name: 'mcp', roles: ['reader'] } }));
  secret('a key that an agent has issued', /\bkey\W+([\w.-]{30,})/.exec(issued)?.[1] ?? `none in ${issued}`);
  await agent.close();
}

function shapes(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const parts = text.split('.').filter((part) => part.length > 20);
  return [
    text,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    encodeURIComponent(text),
    ...parts,
  ];
}

function foundIn(text: string, those: Iterable<readonly [what: string, secret: string]> = secrets): readonly string[] {
  return [...those].filter(([, each]) => shapes(each).some((shape) => text.includes(shape))).map(([what]) => what);
}

function filesBelow(path: string): readonly string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => join(entry.parentPath, entry.name));
}

describe('SPEC-AUTH-SECRETS', () => {
  it('appear in no log, audit record, metric or span', { timeout: PROCESS_MS }, async () => {
    const all = await credentials();
    for (const [number, headers] of all.entries()) await askEverything(headers, number);
    await askByMcp(FIRST);
    expect(secrets.get('a key that an agent has issued')).not.toContain('none in');
    const metrics = await (await fetch(node.metrics)).text();
    const spans = await receiver.until('each request', (them) => them.length > all.length * 10);
    const audit = readFileSync(files.audit, 'utf8');
    const told = JSON.stringify(spans, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    expect(foundIn(node.output())).toEqual([]);
    expect(foundIn(node.log())).toEqual([]);
    expect(foundIn(audit)).toEqual([]);
    expect(foundIn(metrics)).toEqual([]);
    expect(foundIn(told)).toEqual([]);
    // The records show that all credentials were used, so there was something to search.
    expect([audit.includes('"issue-api-key"'), audit.includes('"create-database"')]).toEqual([true, true]);
    expect(node.log()).toContain('"level":"debug"');
  });

  it('are not on the disk, except for the data of events', () => {
    const keys = [...secrets].filter(([what]) => what !== 'data');
    const found = filesBelow(files.data).map((file) => [file, foundIn(readFileSync(file, 'latin1'), keys)]);
    expect(found.filter(([, what]) => what?.length !== 0)).toEqual([]);
    const log = filesBelow(files.data).map((file) => readFileSync(file, 'latin1'));
    expect(log.some((text) => text.includes(DATA))).toBe(true);
  });
});
