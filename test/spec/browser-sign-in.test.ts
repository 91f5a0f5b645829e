// Browsers sign in by HTTP Basic with an API key as the password. Programs get no Basic challenge, and pages of other
// origins cannot write.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openPage, startBrowser, unfold } from '../support/browser.ts';
import { basic } from '../support/credentials.ts';
import { GrpcFailure } from '../support/grpc-client.ts';
import { AS_FIRST, FIRST_KEY, type IssuedKey, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { cloudEvent, errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { INITIALIZE, send } from '../support/mcp-requests.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { foreignOrigins, ownOrigins } from '../support/origins.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';

const { server, api } = await sharedGuardedNode();
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
await api.post(`/databases/${name}/events`, { events: [cloudEvent('first')] }, AS_FIRST);

const reader = await issueKey(api, `reader:${name}`);
const writer = await issueKey(api, `writer:${name}`);
const signedIn = ({ key }: IssuedKey, user = 'ann'): { readonly authorization: string } => ({
  authorization: basic(user, key),
});
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const BOTH = 'Basic realm="cairn", charset="UTF-8", Bearer realm="cairn"';
const challengeOf = ({ headers }: { readonly headers: Headers }): string | null => headers.get('www-authenticate');

describe('SPEC-AUTH-BASIC', () => {
  it('a page that needs a credential makes a browser ask for it, also for missing pages', async () => {
    for (const path of ['/', `/db/${name}/1`, '/db/absent/1', '/nowhere']) {
      const answer = await api.get(path, html);
      expect([path, answer.status, challengeOf(answer)]).toEqual([path, 401, BOTH]);
      expect(answer.headers.get('vary')?.toLowerCase()).toContain('accept');
      expect(answer.headers.get('cache-control')).toBeNull();
    }
    const wrong = await api.get('/', { ...html, authorization: basic('ann', 'swordfish') });
    expect([wrong.status, challengeOf(wrong)]).toEqual([401, `${BOTH}, error="invalid_token"`]);
    expect(wrong.text).toContain('has expired, or was replaced or revoked');
    expect(wrong.text).not.toMatch(/swordfish|YW5u/);
  });

  it('programs get no Basic challenge, over any interface', async () => {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/plain' }])
      expect(challengeOf(await api.get('/', headers))).toBe('Bearer realm="cairn"');
    expect(challengeOf(await api.post('/api/v1/db', {}, html))).toBe('Bearer realm="cairn"');
    expect((await api.get('/', { ...html, ...signedIn(reader) })).headers.has('www-authenticate')).toBe(false);
    const overMcp = await fetch(server.mcp, { method: 'POST', headers: html });
    expect(challengeOf(overMcp)).toBe('Bearer realm="cairn"');
  });

  it('a signed-in user has the roles of the key, and is recorded as the key', async () => {
    expect((await api.get(`/db/${name}/1`, { ...html, ...signedIn(reader) })).status).toBe(200);
    const refused = await api.post(`/databases/${name}/events`, { events: [cloudEvent('no')] }, signedIn(reader));
    expect(errorOf(refused).details?.reason).toBe('RightLacking');
    const transaction_id = crypto.randomUUID();
    const body = { transaction_id, events: [cloudEvent('by-ann')] };
    expect((await api.post(`/api/v1/db/${name}`, body, signedIn(writer, ''))).status).toBe(200);
    const looked = await api.get(`/api/v1/db/${name}/transaction/${transaction_id}`, AS_FIRST);
    expect(jsonOf(looked)).toMatchObject({
      transaction: { principal_attributes: { 'cairn.id': `key:${writer.id}`, 'cairn.name': 'of a test' } },
    });
    // The node asks all nodes for the names of databases with the rights of the caller.
    expect(jsonOf(await api.get('/', signedIn(reader)))).toMatchObject({ databases: [name] });
    expect((await api.get('/databases', { authorization: basic('root', FIRST_KEY) })).status).toBe(200);
  });

  it('a page of another origin cannot write by it, but can with a key in its own header (TH14)', async () => {
    const write = async (more: Readonly<Record<string, string>>, by = signedIn(writer)): Promise<number> =>
      (await api.post(`/databases/${name}/events`, { events: [cloudEvent(uniqueName())] }, { ...by, ...more })).status;
    const { host } = new URL(server.http);
    const foreign = foreignOrigins(host);
    for (const headers of foreign) expect([headers, await write(headers)]).toEqual([headers, 403]);
    for (const headers of [{}, ...ownOrigins(host)]) expect([headers, await write(headers)]).toEqual([headers, 200]);
    const bearer = { authorization: `Bearer ${writer.key}` };
    for (const headers of foreign) expect([headers, await write(headers, bearer)]).toEqual([headers, 200]);
  });

  it('is refused where no browser calls: over gRPC and MCP', async () => {
    const call = server.client.send('fetchCatalog', {}, { metadata: signedIn(reader) });
    const failure = await call.catch((cause: unknown) => cause);
    if (!(failure instanceof GrpcFailure)) throw new Error('not refused');
    expect([failure.code, failure.info?.metadata['reason']]).toEqual(['UNAUTHENTICATED', 'CredentialRefused']);
    expect((await send(server.mcp, INITIALIZE, signedIn(reader))).status).toBe(401);
    expect((await send(server.mcp, INITIALIZE, { authorization: `Bearer ${reader.key}` })).status).toBe(200);
  });

  it('counts for the rate limit of its key, and wrong passwords count for the address', async () => {
    const limits = ['--rate-limit-per-second=1', '--rate-limit-burst=6'];
    const { api: limited } = await startGuardedNode(...limits);
    const left = async (headers: Readonly<Record<string, string>>): Promise<readonly [number, string | null]> => {
      const answer = await limited.get('/databases', headers);
      return [answer.status, answer.headers.get('x-ratelimit-remaining')];
    };
    expect(await left({ authorization: basic('a', FIRST_KEY) })).toEqual([200, '5']);
    const statuses = [];
    for (let at = 0; at < 8; at++) statuses.push((await left({ authorization: basic('a', `wrong-${at}`) }))[0]);
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    expect((await left(AS_FIRST))[0]).toBe(200);
  });

  it('can be switched off', async () => {
    const off = await startGuardedNode('--auth-basic=off');
    expect(challengeOf(await off.api.get('/', html))).toBe('Bearer realm="cairn"');
    const answer = await off.api.get('/', { ...html, authorization: basic('a', FIRST_KEY) });
    expect([answer.status, challengeOf(answer)]).toEqual([401, 'Bearer realm="cairn", error="invalid_token"']);
  });
});

/** Limit for the start of a browser on a busy machine. */
const BROWSER_MS = 120_000;

describe.skipIf(lacksTool('chromium'))('SPEC-AUTH-BASIC: a browser', { timeout: BROWSER_MS }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });

  async function signIn({ key }: IssuedKey): Promise<Page> {
    const { page } = await openPage(browser, { httpCredentials: { username: 'ann', password: key } });
    await page.goto(`${server.http}/`);
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    return page;
  }

  async function transact(page: Page): Promise<void> {
    await unfold(page, 'transact');
    await page.getByLabel('events, in JSON').fill(JSON.stringify([cloudEvent(uniqueName())]));
    await page.getByRole('button', { name: 'transact' }).click();
  }

  it('opens the catalog, follows a link, and commits by a form of the page', async () => {
    const before = await api.get(`/databases/${name}`, AS_FIRST);
    const page = await signIn(writer);
    await transact(page);
    await page.getByText(/^200 .*1 event committed, as revision/).waitFor();
    const after = await api.get(`/databases/${name}`, AS_FIRST);
    const [was, is] = [before, after].map(({ headers }) => Number(headers.get('x-revision')));
    expect(is).toBe((was ?? 0) + 1);
  });

  it('says what to do when the key is revoked while a page is open', async () => {
    const gone = await issueKey(api, `writer:${name}`);
    const page = await signIn(gone);
    await page.goto(`${server.http}/db/${name}/1/events`);
    const tail = page.getByRole('region', { name: 'New events', exact: true });
    await tail.getByRole('button', { name: 'follow' }).click();
    await tail.getByText('the latest revision is').waitFor();
    await api.send(`/api/v1/auth/keys/${gone.id}`, { method: 'DELETE', headers: AS_FIRST });
    await tail.getByText('reload the page to sign in again').waitFor();
    expect(await tail.getByRole('button', { name: 'follow' }).count()).toBe(1);
    // The same happens with a key whose secret was replaced.
    const rotated = await issueKey(api, `writer:${name}`);
    const other = await signIn(rotated);
    await api.post(`/api/v1/auth/keys/${rotated.id}/rotate`, { overlap_seconds: 0 }, AS_FIRST);
    await transact(other);
    // Chromium sends the old secret, or none after a node has refused it.
    const said = other.getByText(/^401[^]*; reload the page to sign in again/);
    await said.waitFor();
    expect(await said.count()).toBe(1);
  });
});
