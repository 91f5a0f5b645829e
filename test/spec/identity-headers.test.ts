// Identity headers of load balancers and proxies count only with a valid signature.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportSPKI, generateKeyPair } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/grpc-client.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { AUDIENCE, IdentityProvider, unsignedToken } from '../support/identity-provider.ts';
import { balancerKey, balancerToken } from '../support/load-balancer.ts';
import { foreignOrigins, ownOrigins } from '../support/origins.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { tempDir } from '../support/temp-dir.ts';

const ALB = 'x-amzn-oidc-data';
const HEADER = 'X-Proxy-Assertion';
const SIGNER = 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/shop/50dc6c495c0c9188';
const KID = '12345678-9abc-def0-1234-56789abcdef0';

const provider = await IdentityProvider.start();
const dir = tempDir();
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});
const balancer = balancerKey();
provider.answers.set(`/alb/${KID}`, (_request, response) => response.end(balancer.pem));
const pair = await generateKeyPair('ES256', { extractable: true });
const file = join(dir.path, 'proxy.pem');
writeFileSync(file, await exportSPKI(pair.publicKey));
const { server, api } = await startGuardedNode(
  `--alb-signer=${SIGNER}`,
  `--alb-keys-url=${provider.issuer}/alb`,
  '--alb-roles-claim=groups',
  `--signed-header=${HEADER}`,
  `--signed-header-keys=${file}`,
  `--signed-header-issuer=${provider.issuer}`,
  `--signed-header-audience=${AUDIENCE}`,
);
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

const nowS = (): number => Math.floor(Date.now() / 1_000);
const path = `/databases/${name}`;

const overGrpc = (metadata: Readonly<Record<string, string>>): Promise<string> =>
  outcomeOf(server.client.send('fetchLatestDatabase', { databaseName: name }, { metadata }));

describe('SPEC-AUTH-BALANCER', () => {
  const head = (more: object = {}): object => ({
    typ: 'JWT',
    kid: KID,
    alg: 'ES256',
    iss: 'https://login.shop.example',
    client: 'shop-client',
    signer: SIGNER,
    exp: nowS() + 120,
    ...more,
  });
  const ann = { sub: 'ann', email: 'ann@shop.example', groups: [`reader:${name}`] };
  const said = (header = {}, claims: object = ann, { key } = balancer): Readonly<Record<string, string>> => ({
    [ALB]: balancerToken(key, head(header), claims),
  });

  /**
   * A token with padding, from which the padding is removed. Without padding in header and claims, the text would equal
   * the signed one.
   */
  const unpadded = (): Readonly<Record<string, string>> => {
    const padded = [ann, { ...ann, team: 12 }].find((claims) => JSON.stringify(claims).length % 3 !== 0);
    return { [ALB]: said({}, padded)[ALB]?.replaceAll('=', '') ?? '' };
  };

  it('a header signed by a configured load balancer identifies the caller, over HTTP and gRPC', async () => {
    expect(said()[ALB]).toContain('=');
    expect(jsonOf(await api.get(path, said()))).toMatchObject({ name });
    const refused = errorOf(await api.send(path, { method: 'DELETE', headers: said() }));
    expect(refused.message).toContain('"ann@shop.example" (alb:ann) lacks');
    expect(await overGrpc(said())).toBe('OK');
  });

  it.each<[string, () => Readonly<Record<string, string>>]>([
    ['of another load balancer', () => said({ signer: SIGNER.replace('shop', 'shoq') })],
    ['of several', () => said({ signer: [SIGNER] })],
    ['that has expired', () => said({ exp: nowS() - 11 })],
    ['that does not expire', () => said({ exp: undefined })],
    ['whose claims have expired', () => said({}, { ...ann, exp: nowS() - 11 })],
    ['that somebody else has signed', () => said({}, ann, balancerKey())],
    ['whose key has a query', () => said({ kid: `${KID}?a` })],
    ['whose key has no name', () => said({ kid: undefined })],
    ['that is signed by RS256', () => said({ alg: 'RS256' })],
    ['that nobody has signed', () => ({ [ALB]: unsignedToken(head({ alg: 'none' }), ann) })],
    ['without padding', unpadded],
    ['of nobody', () => said({}, { groups: ['admin'] })],
    ['that is empty', () => ({ [ALB]: '' })],
    ['beside the identity alone', () => ({ 'x-amzn-oidc-identity': 'ann', 'x-forwarded-user': 'ann' })],
  ])('one %s does not', async (_what, make) => {
    const headers = make();
    errorOf(await api.get(path, headers), { status: 401, code: 'UNAUTHENTICATED' });
    expect(await overGrpc(headers)).toMatch(/^UNAUTHENTICATED/);
    expect(provider.asked.filter((asked) => asked !== `/alb/${KID}`)).toEqual([]);
  });

  it('a header that is sent twice is refused (U2)', async () => {
    const { host } = new URL(server.http);
    const lines = [`${ALB}: ${said()[ALB]}`, `X-AMZN-OIDC-DATA: ${said()[ALB]}`];
    const status = async (...sent: readonly string[]): Promise<number | undefined> => {
      const request = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...sent, '', ''];
      return parseReplies(await exchange(server.http, request.join('\r\n')))[0]?.status;
    };
    expect(await status(lines[0] ?? '')).toBe(200);
    expect(await status(...lines)).toBe(401);
    expect(await status(lines[0] ?? '', 'X-API-Key: x')).toBe(401);
  });

  it('a page of another origin cannot write by a header that the browser or the balancer adds (TH14)', async () => {
    const admin = said({}, { sub: 'root', groups: ['admin'] });
    const write = async (more: Readonly<Record<string, string>>, by = admin): Promise<number> =>
      (await api.post(`/api/v1/databases/${uniqueName()}`, undefined, { ...by, ...more })).status;
    const { host } = new URL(server.http);
    const foreign = foreignOrigins(host);
    for (const headers of foreign) expect([headers, await write(headers)]).toEqual([headers, 403]);
    for (const headers of [{}, ...ownOrigins(host)]) {
      expect([headers, await write(headers)]).toEqual([headers, 201]);
    }
    for (const headers of foreign) expect([headers, await write(headers, AS_FIRST)]).toEqual([headers, 201]);
    for (const headers of foreign) expect((await api.get(path, { ...said(), ...headers })).status).toBe(200);
  });

  it('MCP does not accept the header, because tools could not send it on', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...said() };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect((await fetch(server.mcp, { method: 'POST', headers, body })).status).toBe(401);
  });
});

describe('SPEC-AUTH-SIGNED-HEADER', () => {
  const claims = { sub: 'accounts:7', email: 'ann@shop.example', roles: [`reader:${name}`] };
  const said = async (more: object = {}, key = pair.privateKey): Promise<Readonly<Record<string, string>>> => ({
    [HEADER]: await provider.token({ ...claims, ...more }, { key }),
  });

  it('a header that the proxy has signed identifies the caller, over HTTP and gRPC', async () => {
    expect((await api.get(path, await said())).status).toBe(200);
    const refused = errorOf(await api.send(path, { method: 'DELETE', headers: await said() }));
    expect(refused.message).toContain('(proxy:accounts:7) lacks');
    const token = (await said())[HEADER] ?? '';
    expect(await overGrpc({ [HEADER.toLowerCase()]: token })).toBe('OK');
  });

  it.each<[string, () => Promise<Readonly<Record<string, string>>>]>([
    ['of another issuer', () => said({ iss: 'https://other.example' })],
    ['for somebody else', () => said({ aud: 'other' })],
    ['that has expired', () => said({ exp: nowS() - 11 })],
    ['that somebody else has signed', async () => said({}, (await generateKeyPair('ES256')).privateKey)],
    ['as a bearer token', async () => ({ authorization: `Bearer ${(await said())[HEADER]}` })],
    ['under another name', async () => ({ 'X-Goog-IAP-JWT-Assertion': (await said())[HEADER] ?? '' })],
    ['behind a word', async () => ({ [HEADER]: `Bearer ${(await said())[HEADER]}` })],
  ])('one %s does not', async (_what, make) => {
    expect((await api.get(path, await make())).status).toBe(401);
  });
});

it('SPEC-HTTP-R6: with authentication on, answers vary on all headers that can identify a caller', async () => {
  const answer = await api.get(`/db/${name}/0`, AS_FIRST);
  expect(answer.headers.get('cache-control')).toBe('private, max-age=60');
  const vary = answer.headers.get('vary')?.split(', ') ?? [];
  expect(vary).toEqual(expect.arrayContaining(['Authorization', 'Cookie', 'X-API-Key', 'X-Amzn-OIDC-Data', HEADER]));
});
