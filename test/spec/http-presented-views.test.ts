// Presenters over HTTP: parameters, content negotiation, next pages, tags (ETags), and bodies that fail half-way.
import { beforeAll, describe, expect, it } from 'vitest';
import { PORTIONED, SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { cloudEvent, errorOf, uniqueName } from '../support/http-client.ts';
import { exchange, parseReplies, type RawReply } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { wat } from '../support/wasm/wat.ts';

const IDENTITIES = `
  X-Forwarded-User X-Forwarded-Groups X-Auth-Request-Groups Remote-User X-Remote-Extra-Scopes
  Client-Cert Client-Cert-Chain X-Client-Cert X-Forwarded-Client-Cert X-Forwarded-Tls-Client-Cert-Info
  X-SSL-Client-S-DN Ssl-Client-Subject-Dn X-Amzn-OIDC-Identity X-Amzn-Mtls-Clientcert-Subject
  X-Goog-IAP-JWT-Assertion X-Apigateway-Api-Userinfo X-MS-Client-Principal-Name X-ARR-ClientCert
  Cf-Access-Jwt-Assertion Cf-Cert-Subject-Dn Cf-Client-Cert-Sha256 Client-To-Edge X-Consumer-Username
  X-Pomerium-Jwt-Assertion Tailscale-User-Login`
  .trim()
  .split(/\s+/);
const OTHERS = { 'x-forwarded-for': '10.0.0.1', 'x-forwarded-proto': 'https', 'x-request-id': 'a', forwarded: 'for=a' };

const SLOW_MS = 120_000;
const LAST_CHUNK = '\r\n0\r\n\r\n';
const BY_ACCOUNT = { type: 'equals', attr: { subject: { parameter: 'account' } } };

const { server, api } = await sharedHttpNode();
let view: Uint8Array;
let presenter: Uint8Array;

beforeAll(async () => {
  view = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
  presenter = await wat(SHOWING);
});

/** Creates a database with one event and a State View `shown` that has a presenter. */
async function presented(database: string = uniqueName()): Promise<string> {
  await api.create(database);
  await transact(database, '1');
  await publishPresenter(database, {});
  const definition = { state_view_name: 'shown', content_type: 'application/x-count', query_temporality: 'revision' };
  const more = { event_selector: BY_ACCOUNT, presenter: 'showing' };
  await publish(database, 'state-views', { ...definition, ...more }, view);
  return database;
}

const transact = (database: string, id: string): Promise<number> =>
  api.commit(database, cloudEvent(id, { subject: 'a' }));

function publishPresenter(database: string, more: object): Promise<void> {
  const metadata = { presenter_name: 'showing', content_types: ['text/plain', 'text/csv'], ...more };
  return publish(database, 'presenters', metadata, presenter);
}

async function publish(database: string, kind: string, metadata: object, bytes: Uint8Array): Promise<void> {
  const { status, text } = await api.publish(`${database}/${kind}`, metadata, bytes);
  expect([status, text]).toEqual([201, expect.any(String)]);
}

function scoped(database: string, search: string, revision = 1): string {
  return `/api/v1/db/${database}/${revision}/state-views/shown/v1?subject.account=a${search}`;
}

async function tagOf(path: string, headers: Readonly<Record<string, string>> = {}): Promise<string | null> {
  return (await api.get(path, headers)).headers.get('etag');
}

function distinct(tags: readonly (string | null)[]): number {
  return new Set(tags.filter((tag) => tag !== null)).size;
}

describe('SPEC-HTTP-R10', () => {
  it('gives the presenter every parameter except the cut, also one called revision', async () => {
    const database = await presented();
    const search = '&revision=9&limit=5&effective_time_end_at=2026-01-01T00:00:00Z';
    const shown = await api.get(scoped(database, search));
    expect(shown.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'; /);
    expect(shown.text).toBe('subject.account=a\nrevision=9\nlimit=5\n');
    const revisions = await Promise.all(
      ['', '&revision=9', '&revision=8'].map((each) => tagOf(scoped(database, each))),
    );
    expect(new Set(revisions).size).toBe(3);
  });

  it('negotiates among the offers of the presenter, and says so in vary', async () => {
    const database = await presented();
    const typeOf = async (accept: string): Promise<readonly unknown[]> => {
      const { status, headers } = await api.get(scoped(database, ''), { accept });
      return [status, headers.get('content-type'), headers.get('vary')];
    };
    expect(await typeOf('text/csv, text/plain;q=0.5')).toEqual([200, 'text/csv', 'accept']);
    expect(await typeOf('text/*')).toEqual([200, 'text/plain', 'accept']);
    const refused = errorOf(await api.get(scoped(database, ''), { accept: 'image/png' }));
    expect(refused).toMatchObject({ status: 406, details: { reason: 'NotAcceptable' } });
  });

  it('links to the next page of the presented state, with the same parameters', async () => {
    const database = await presented();
    const linkOf = async (path: string): Promise<string | null> => (await api.get(path)).headers.get('link');
    const next = `</api/v1/db/${database}/1/state-views/shown/v1?subject.account=a&limit=5&continuation=because>; rel="next"`;
    const named = `/databases/${database}/state-views/shown?subject.account=a&limit=5`;
    const variant = `/api/v1/databases/${database}/state-views/shown/versions/1?subject.account=a&limit=5&revision=1`;
    const links = [await linkOf(scoped(database, '&limit=5')), await linkOf(named), await linkOf(variant)];
    expect(links).toEqual([next, next, next]);
    await transact(database, '2');
    const second = await api.get(/<(.*)>/.exec(next)?.[1] ?? '');
    expect(second.headers.get('x-revision')).toBe('1');
    expect(second.text).toBe('subject.account=a\nlimit=5\ncontinuation=because\n');
  });
});

describe('SPEC-HTTP-R6', () => {
  it('has the same tag for the same answer, and another one when the answer may differ', async () => {
    const database = await presented();
    const search = '&limit=5';
    const tag = await tagOf(scoped(database, search));
    const same = [
      await tagOf(scoped(database, search)),
      await tagOf(scoped(database, search), { accept: 'text/plain' }),
      await tagOf(`/api/v1/databases/${database}/state-views/shown/versions/1?subject.account=a&limit=5&revision=1`),
    ];
    expect(same).toEqual([tag, tag, tag]);
    const others = [
      await tagOf(scoped(database, search), { accept: 'text/csv' }),
      await tagOf(scoped(database, '&limit=6')),
      await tagOf(scoped(database, '&more=5')),
      await tagOf(scoped(database, '')),
      await tagOf(scoped(database, search).replace('account=a', 'account=b')),
    ];
    await transact(database, '2');
    others.push(await tagOf(scoped(database, search, 2)));
    expect(distinct([tag, ...others])).toBe(7);
    expect(await tagOf(scoped(database, search))).toBe(tag);
  });

  it('has another tag for another version of the presenter, or with other settings', async () => {
    const database = await presented();
    const path = scoped(database, '');
    const first = await tagOf(path);
    await publishPresenter(database, {});
    await publishPresenter(database, { presenter_name: 'other', settings: { a: '1' } });
    expect(await tagOf(path)).toBe(first);
    const tags = [first];
    for (const settings of [{ currency: 'EUR' }, { currency: 'CHF' }, { currency: 'CHF', decimals: '2' }]) {
      await publishPresenter(database, { settings });
      tags.push(await tagOf(path));
    }
    expect(distinct(tags)).toBe(4);
    await transact(database, '2');
    await publishPresenter(database, { settings: { currency: 'USD' } });
    expect(await tagOf(path)).toBe(tags.at(-1));
  });

  it('has another tag with another cut, and in another fold epoch', async () => {
    const database = await presented();
    const definition = { state_view_name: 'stock', content_type: 'application/x-count', presenter: 'showing' };
    const order = { event_selector: {}, query_temporality: 'effective_timestamp' };
    await publish(database, 'state-views', { ...definition, ...order }, view);
    const at = (cut: string): string =>
      `/api/v1/db/${database}/1/state-views/stock/v1?effective_time_end_at=${encodeURIComponent(cut)}`;
    const cuts = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000001Z', '2025-12-31T23:59:59Z'];
    const tags = await Promise.all(cuts.map((cut) => tagOf(at(cut))));
    expect(distinct(tags)).toBe(3);
    const seen = await tagOf(scoped(database, '&effective_time_end_at=2026-01-01T00:00:00Z'));
    expect(seen).toBe(await tagOf(scoped(database, '')));
    const expired = `/api/v1/db/${database}/state-views/stock/expire-snapshots`;
    expect((await api.post(expired, '')).status).toBe(200);
    const later = await Promise.all(cuts.map((cut) => tagOf(at(cut))));
    expect(distinct([...tags, ...later])).toBe(6);
  });

  it('is private for requests with an identity header of a gateway, and varies on that header', async () => {
    const database = await presented();
    const path = scoped(database, '');
    for (const name of IDENTITIES) {
      const { headers } = await api.get(path, { [name]: 'ada' });
      const told = [headers.get('cache-control'), headers.get('vary')];
      expect(told).toEqual(['private, max-age=60', `accept, Authorization, Cookie, X-API-Key, ${name.toLowerCase()}`]);
    }
    const { headers } = await api.get(path, OTHERS);
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['public, max-age=60', 'accept']);
  });
});

interface Portions {
  readonly count: number;
  readonly bytes: number;
  readonly refuses?: boolean;
}

function pathOf({ count, bytes, refuses = false }: Portions): string {
  const asked = `count=${count}&bytes=${bytes}&refuses=${refuses ? 1 : 0}`;
  return `/api/v1/db/portions/1/state-views/shown/v1?${asked}`;
}

function heard(portions: Portions): Promise<string> {
  const head = `GET ${pathOf(portions)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  return exchange(server.http, head);
}

async function replyTo(portions: Portions): Promise<RawReply> {
  const replies = parseReplies(await heard(portions));
  expect(replies).toHaveLength(1);
  return replies[0] ?? { status: 0, headers: new Map(), body: '' };
}

function written({ count, bytes }: Portions): Buffer {
  const parts = Array.from({ length: count }, (_, number) => {
    const part = Buffer.alloc(bytes);
    part.writeUInt32LE(number);
    return part;
  });
  return Buffer.concat(parts);
}

describe('SPEC-HTTP-R11', { timeout: SLOW_MS }, () => {
  beforeAll(async () => {
    await api.create('portions');
    await transact('portions', '1');
    const portioned = { presenter_name: 'portioned', content_types: ['text/plain'] };
    await publish('portions', 'presenters', portioned, await wat(PORTIONED));
    const shown = { state_view_name: 'shown', content_type: 'text/plain', query_temporality: 'revision' };
    await publish('portions', 'state-views', { ...shown, event_selector: {}, presenter: 'portioned' }, view);
  }, SLOW_MS);

  it('sends a larger body in chunks, completely', async () => {
    const portions = { count: 40, bytes: 50_001 };
    const answer = await fetch(`${server.http}${pathOf(portions)}`);
    expect([answer.status, answer.headers.get('transfer-encoding')]).toEqual([200, 'chunked']);
    expect(Buffer.from(await answer.arrayBuffer()).equals(written(portions))).toBe(true);
  });

  it('answers with the error when a presentation fails before any byte was sent', async () => {
    for (const count of [0, 3]) {
      // A presentation of more than about 100 ms is sent in parts, so a busy machine may answer 200.
      const reply = await eventually(async () => {
        const refused = await replyTo({ count, bytes: 1000, refuses: true });
        expect(refused.status).toBe(404);
        return refused;
      });
      expect(JSON.parse(reply.body)).toMatchObject({ error: { code: 'NOT_FOUND' } });
      expect(reply.headers.get('cache-control')).not.toBe('public, max-age=60');
      expect(reply.headers.get('etag')).toBeUndefined();
    }
  });

  it('sends no last chunk when a presentation fails later, so that a client sees a failed read', async () => {
    const portions = { count: 40, bytes: 50_001, refuses: true };
    const text = await heard(portions);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text.endsWith(LAST_CHUNK)).toBe(false);
    expect(text).not.toContain('error');
    await expect(api.get(pathOf(portions))).rejects.toThrow('terminated');
  });
});
