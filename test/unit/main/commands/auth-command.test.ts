// Goal: an operator who types something about keys gets what was asked for, or a sentence that says what is wrong; the
// key alone is on stdout, and no secret in a message. Method: the command, with a server made up.
import { describe, expect, it } from 'vitest';
import { authCommand } from '../../../../src/main/commands/auth-command.ts';

const ID = '0123456789abcdef';
const SECRET = 'the-key-of-an-administrator-0123456789';
const AUTHORITY = '-----BEGIN CERTIFICATE-----';
const KEY = { id: ID, name: 'ci', roles: ['reader'], created_by: 'bootstrap', secrets: [{}] };

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly asked: readonly string[];
  readonly trusted: readonly string[];
}

async function run(line: string, answer: Response | Error = Response.json({})): Promise<Ran> {
  let [out, err] = ['', ''];
  const asked: string[] = [];
  const trusted: string[] = [];
  const code = await authCommand(line.split(' '), {
    fetch: async (url, init) => {
      const { method, headers, body, url: target } = new Request(url, init);
      const sent = body === null ? '' : ` ${await new Response(body).text()}`;
      asked.push(`${method} ${target} ${headers.get('x-api-key')}${sent}`);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    read: (file) => {
      if (file === 'ca') return AUTHORITY;
      if (file !== 'first' && file !== '-') throw new Error(`ENOENT: ${file}`);
      return `${SECRET}\n`;
    },
    trust: (authorities, file) => {
      if (!authorities.startsWith('-----BEGIN')) throw new Error(`${file} has none`);
      trusted.push(authorities);
    },
    nowMs: () => Date.UTC(2026, 0, 1),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out, err, asked, trusted };
}

const AT = 'http://127.0.0.1:3000/api/v1/auth/keys';

describe('cairn auth key', () => {
  it('create prints the key alone, and says who it is beside', async () => {
    const issued = Response.json({ ...KEY, key: 'cairn_x', expires_at: '2026-04-01T00:00:00Z' }, { status: 201 });
    const line = 'key create --name ci --roles reader:shop-*,writer:shop --expires-in 90d --key-file first';
    const sent = '{"name":"ci","roles":["reader:shop-*","writer:shop"],"expires_at":"2026-04-01T00:00:00.000Z"}';
    expect(await run(line, issued)).toEqual({
      code: 0,
      out: 'cairn_x\n',
      err: `key ${ID} (ci): reader, until 2026-04-01T00:00:00Z; it is shown this once\n`,
      asked: [`POST ${AT} ${SECRET} ${sent}`],
      trusted: [],
    });
  });

  it('takes the key from standard input with --key-file -', async () => {
    const { code, asked } = await run('key list --key-file -', Response.json({ keys: [KEY] }));
    expect({ code, asked }).toEqual({ code: 0, asked: [`GET ${AT} ${SECRET}`] });
  });

  it('list shows a table, and with --json what the server says', async () => {
    const { out, asked } = await run('key list --key-file first --url http://h:1', Response.json({ keys: [KEY] }));
    expect(out).toMatch(/^ID +NAME +ROLES +EXPIRES +SECRETS +BY\n0123456789abcdef +ci +reader +never +1 +bootstrap\n$/);
    expect(asked).toEqual([`GET http://h:1/api/v1/auth/keys ${SECRET}`]);
    const json = await run('key list --json --key-file first', Response.json({ keys: [KEY] }));
    expect(JSON.parse(json.out)).toEqual({ keys: [KEY] });
  });

  it('rotate and revoke are of one key', async () => {
    const next = Response.json({ ...KEY, key: 'cairn_y' });
    const rotated = await run(`key rotate ${ID} --overlap 0s --key-file first`, next);
    const order = `POST ${AT}/${ID}/rotate ${SECRET} {"overlap_seconds":0}`;
    expect([rotated.code, rotated.out, rotated.asked]).toEqual([0, 'cairn_y\n', [order]]);
    const revoked = await run(`key revoke ${ID} --key-file first`, new Response(null, { status: 204 }));
    expect([revoked.code, revoked.out, revoked.err]).toEqual([0, '', `key ${ID} is revoked\n`]);
    expect(revoked.asked).toEqual([`DELETE ${AT}/${ID} ${SECRET}`]);
  });

  it('token create, list and revoke are of tokens', async () => {
    const token = { ...KEY, token: 'cairn_z', expires_at: '2026-01-01T00:10:00Z' };
    const line = 'token create --name agent --roles reader:shop --expires-in 10m --key-file first';
    const created = await run(line, Response.json(token, { status: 201 }));
    const place = 'http://127.0.0.1:3000/api/v1/auth/tokens';
    const order = `POST ${place} ${SECRET} {"name":"agent","roles":["reader:shop"],"expires_in_seconds":600}`;
    expect([created.code, created.out, created.asked]).toEqual([0, 'cairn_z\n', [order]]);
    expect(created.err).toMatch(/^token 0123456789abcdef \(ci\): reader, until .*; it is shown this once\n$/);
    const listed = await run('token list --key-file first', Response.json({ tokens: [token] }));
    expect(listed.out).toMatch(
      /^ID +NAME +ROLES +EXPIRES +BY\n0123456789abcdef +ci +reader +2026-01-01T00:10:00Z +bootstrap\n$/,
    );
    const revoked = await run(`token revoke ${ID} --key-file first`, new Response(null, { status: 204 }));
    expect([revoked.code, revoked.err]).toEqual([0, `token ${ID} is revoked\n`]);
    expect(revoked.asked).toEqual([`DELETE ${place}/${ID} ${SECRET}`]);
  });

  const cause = new Error('connect ECONNREFUSED');
  it.each([
    [Response.json({ error: { message: 'no such key' } }, { status: 404 }), 'no such key'],
    [new Response('<html>', { status: 502 }), 'http://127.0.0.1:3000 answered 502; it may not be a Cairn node'],
    [new TypeError('fetch failed', { cause }), 'no answer from http://127.0.0.1:3000 (connect ECONNREFUSED)'],
  ])('what is refused is said, and ends with 1', async (answer, said) => {
    const { code, out, err } = await run('key list --key-file first', answer);
    expect([code, out, err]).toEqual([1, '', `cairn auth: ${said}\n`]);
    expect(err).not.toContain(SECRET);
  });

  it('takes the certificates of the authorities that are named', async () => {
    const { code, trusted } = await run('key list --key-file first --tls-ca-file ca --url https://h:1');
    expect([code, trusted]).toEqual([0, [AUTHORITY]]);
    const { code: refused, err, asked } = await run('key list --key-file first --tls-ca-file first');
    expect([refused, err, asked]).toEqual([1, 'cairn auth: --tls-ca-file cannot be used: first has none\n', []]);
  });

  it('a file that cannot be read ends with 1', async () => {
    const { code, err, asked } = await run('key list --key-file nowhere');
    expect([code, err, asked]).toEqual([1, 'cairn auth: the key cannot be read: ENOENT: nowhere\n', []]);
  });

  it.each([
    ['', 'unknown command ""; commands are key and token'],
    ['tokens list --key-file first', 'unknown command "tokens"'],
    ['token rotate 0123456789abcdef --key-file first', 'commands are create, list and revoke'],
    ['token list', '--key-file is missing: a file with your key'],
    ['key --key-file first', 'commands are create, list, rotate and revoke'],
    ['key list', '--key-file is missing'],
    ['key list x --key-file first', 'unexpected argument'],
    ['key revoke xyz --key-file first', '"xyz" is not one (16 hex digits)'],
    ['key create --roles reader --key-file first', '--name is missing'],
    ['key create --name x --key-file first', '--roles is missing'],
    ['key create --name x --roles reader --expires-in soon --key-file first', '--expires-in is "soon"'],
    ['key list --overlap 1d --key-file first', '--overlap is only for rotate'],
    ['key list --url ftp://x --key-file first', '--url is "ftp://x"'],
    ['key list --key first', 'unknown option'],
  ])('%j is refused with 2', async (line, said) => {
    const { code, out, err, asked } = await run(line);
    expect([code, out, asked]).toEqual([2, '', []]);
    expect(err).toContain(said);
    expect(err).toContain('cairn auth --help');
  });
});
