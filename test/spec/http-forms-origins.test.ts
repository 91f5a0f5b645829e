// Forms that pages of other origins send are refused, also without authentication (TH14).
import { describe, expect, it } from 'vitest';
import { BROWSER, FORM_TYPE, sendForm, shownForm } from '../support/forms.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { unescaped } from '../support/html-pages.ts';
import { uniqueName } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { foreignOrigins, ownOrigins } from '../support/origins.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { toonDatabase } from '../support/toon-node.ts';

const { api } = await sharedHttpNode();
const { name } = await toonDatabase(api);

describe('SPEC-HTTP-FORMS: the origin of a form', () => {
  const host = new URL(api.address).host;
  // The last one has no headers: a browser that does not name the page of the form, or a program without a key.
  const foreign = [...foreignOrigins(host), {}];

  it('must be this node, also without authentication (TH14)', async () => {
    for (const from of foreign) {
      const database_name = uniqueName();
      const answer = await sendForm(api, '/api/v1/db', { database_name }, { ...BROWSER, ...from });
      expect([from, answer.status, shownForm(answer).title]).toEqual([from, 403, 'That did not work']);
      expect((await api.get(`/databases/${database_name}`)).status).toBe(404);
    }
    for (const from of ownOrigins(host)) {
      const answer = await sendForm(api, '/api/v1/db', { database_name: uniqueName() }, { ...BROWSER, ...from });
      expect([from, answer.status]).toEqual([from, 303]);
    }
  });

  it('is not null, file: or a foreign one, when the request names no host', async () => {
    const lines = (origin: string, database_name: string): string => {
      const body = `database_name=${database_name}`;
      const headers = { ...BROWSER, ...FORM_TYPE, origin, 'content-length': String(body.length) };
      const head = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
      return `POST /api/v1/db HTTP/1.0\r\n${head.join('')}\r\n${body}`;
    };
    for (const origin of ['null', 'file:///', 'https://evil.example']) {
      const database_name = uniqueName();
      const [reply] = parseReplies(await exchange(api.address, lines(origin, database_name)));
      expect([origin, reply?.status]).toEqual([origin, 403]);
      expect((await api.get(`/databases/${database_name}`)).status).toBe(404);
    }
  });

  it('is not an app: URL with the host of this node', async () => {
    const fields = { database_name: uniqueName() };
    const answer = await sendForm(api, '/api/v1/db', fields, { ...BROWSER, origin: `app://${host}` });
    expect([answer.status, (await api.get(`/databases/${fields.database_name}`)).status]).toEqual([403, 404]);
  });

  it('the page of a refused form has no button to send it again', async () => {
    const path = `/api/v1/db/${name}/state-views/all/expire-snapshots`;
    for (const from of foreign) {
      const answer = await sendForm(api, path, '', { ...BROWSER, ...from });
      expect([from, answer.status, answer.text.includes('<form')]).toEqual([from, 403, false]);
    }
    // A form that was refused for another reason can be corrected and sent again.
    const absent = await sendForm(api, path.replace('/all/', '/absent/'), '');
    expect([absent.status, absent.text.includes('<form')]).toEqual([404, true]);
  });

  it('the shown shell command quotes any path as one word', async () => {
    const answer = await sendForm(api, "/api/v1/db/x';id;'", { events: '[]' });
    const [, command = ''] = /<pre class="command" tabindex="0">([^<]*)</.exec(answer.text) ?? [];
    expect(unescaped(command)).toContain("'http://<node>/api/v1/db/x%27;id;%27' -H");
  });

  it('must be this node also for multipart forms', async () => {
    for (const [from, status] of [
      [{ origin: 'https://evil.example' }, 403],
      [{ 'sec-fetch-site': 'same-origin' }, 400],
    ] as const) {
      const headers = { ...BROWSER, ...from };
      const url = `${api.address}/api/v1/db/${name}/state-changes`;
      const reply = await fetch(url, { method: 'POST', body: new FormData(), headers });
      expect([from, reply.status]).toEqual([from, status]);
    }
  });

  it('may be named by --cors-origins', async () => {
    const { api: named } = await startHttpNode('--cors-origins=https://ours.example');
    const status = async (origin: string): Promise<number> =>
      (await sendForm(named, '/api/v1/db', { database_name: uniqueName() }, { ...BROWSER, origin })).status;
    expect([await status('https://ours.example'), await status('https://evil.example')]).toEqual([303, 403]);
  });

  it('must be this node also with a valid credential, and each form needs a credential when authentication is on', async () => {
    const { api: guarded } = await startGuardedNode();
    const status = async (headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const answer = await sendForm(guarded, '/api/v1/db', { database_name: uniqueName() }, { ...BROWSER, ...headers });
      return [
        answer.status,
        answer.headers.get('www-authenticate') !== null,
        answer.text.startsWith('<!doctype html>'),
      ];
    };
    expect(await status({ 'sec-fetch-site': 'same-origin' })).toEqual([401, true, true]);
    expect(await status({ ...AS_FIRST, origin: 'https://evil.example' })).toEqual([403, false, true]);
    expect(await status({ ...AS_FIRST, 'sec-fetch-site': 'same-origin' })).toEqual([303, false, false]);
  });
});

describe('a node that does not authenticate requests, on loopback,', () => {
  const send = (method: string, path: string, headers: Readonly<Record<string, string>>, body = '') => {
    const sent = { host: 'localhost', 'content-type': 'application/json', ...headers, connection: 'close' };
    const lines = Object.entries({ ...sent, 'content-length': String(body.length) }).map((each) => each.join(': '));
    return exchange(api.address, `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`);
  };
  const statusOf = async (...request: Parameters<typeof send>): Promise<number | undefined> =>
    parseReplies(await send(...request))[0]?.status;

  it('refuses writes by pages of another origin, and answers their reads', async () => {
    const from = { origin: 'https://evil.example' };
    const database_name = uniqueName();
    const created = JSON.stringify({ database_name });
    expect(await statusOf('POST', '/api/v1/db', from, created)).toBe(403);
    expect(await statusOf('DELETE', `/api/v1/db/${name}`, from)).toBe(403);
    expect(await statusOf('GET', `/databases/${database_name}`, from)).toBe(404);
    expect(await statusOf('GET', `/databases/${name}`, from)).toBe(200);
    expect(await statusOf('POST', `/databases/${name}/query`, from, '{}')).toBe(200);
    expect(await statusOf('OPTIONS', '/api/v1/db', from)).toBe(204);
    expect(await statusOf('POST', '/api/v1/db', { origin: 'http://localhost:5173' }, created)).toBe(201);
  });

  it('refuses reads and writes with another Host, and answers probes', async () => {
    const from = { host: 'evil.example' };
    expect(await statusOf('GET', `/databases/${name}`, from)).toBe(403);
    expect(await statusOf('POST', '/api/v1/db', from, JSON.stringify({ database_name: uniqueName() }))).toBe(403);
    expect(await statusOf('GET', '/health', from)).toBe(200);
  });
});
