// Goal: whoever administers leaves a record of it, over HTTP, gRPC and MCP, with authentication on and off; reads and
// transactions leave none. Method: real nodes that write theirs to a file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AS_FIRST, FIRST_KEY, startGuardedNode } from '../support/guarded-node.ts';
import { cloudEvent, jsonOf, uniqueName } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { begun, LIST, READY, send } from '../support/mcp-requests.ts';
import { tempDir } from '../support/temp-dir.ts';

const dir = tempDir();
const files = { on: join(dir.path, 'on.jsonl'), off: join(dir.path, 'off.jsonl') };
afterAll(() => dir[Symbol.dispose]());
const { server, api } = await startGuardedNode(`--audit-log=${files.on}`);
const open = await startHttpNode(`--audit-log=${files.off}`);

/** All but their times. */
function recordsIn(file: string): readonly unknown[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const { time: _time, node: _node, ...record } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return record;
  });
}

describe('SPEC-AUTH-AUDIT', () => {
  it('says who did what to which, what was refused for want of a right, and what failed', async () => {
    const name = uniqueName();
    const admin = { principal: 'bootstrap', principalName: 'bootstrap' };
    const issued = jsonOf(await api.post('/api/v1/auth/keys', { name: 'ci', roles: [`writer:${name}`] }, AS_FIRST)) as {
      readonly id: string;
      readonly key: string;
    };
    const writer = { principal: `key:${issued.id}`, principalName: 'ci' };
    const asWriter = { 'x-api-key': issued.key };
    await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
    await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
    await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('1')] }, asWriter);
    await api.get(`/databases/${name}`, asWriter);
    await api.send(`/api/v1/db/${name}`, { method: 'DELETE', headers: asWriter });
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined }, { metadata: AS_FIRST });
    await api.send(`/api/v1/auth/keys/${issued.id}`, { method: 'DELETE', headers: AS_FIRST });
    const database = expect.stringMatching(/^[\da-f-]{36}$/);
    expect(recordsIn(files.on)).toEqual([
      { act: 'issue-api-key', ...admin, outcome: 'done', key: issued.id, name: 'ci', roles: [`writer:${name}`] },
      { act: 'create-database', ...admin, outcome: 'done', database: name, databaseId: database },
      {
        act: 'create-database',
        ...admin,
        outcome: 'failed',
        code: 'already_exists',
        database: name,
      },
      {
        act: 'delete-database',
        ...writer,
        outcome: 'denied',
        code: 'permission_denied',
        reason: 'RightLacking',
        database: name,
      },
      { act: 'delete-database', ...admin, outcome: 'done', database: name, databaseId: database, result: 'deleted' },
      { act: 'revoke-api-key', ...admin, outcome: 'done', key: issued.id },
    ]);
    const text = readFileSync(files.on, 'utf8');
    for (const secret of [FIRST_KEY, issued.key.slice(-72)]) expect(text).not.toContain(secret);
  });

  it('is of whoever an agent is, over MCP', async () => {
    const name = uniqueName();
    const before = recordsIn(files.on).length;
    const made = await api.post('/api/v1/auth/keys', { name: 'agent', roles: [`admin:${name}`] }, AS_FIRST);
    const { id, key } = jsonOf(made) as { readonly id: string; readonly key: string };
    const session = await begun(server.mcp, { authorization: `Bearer ${key}` });
    await send(server.mcp, READY, session);
    for (const database_name of [name, 'of-somebody-else']) {
      const given = { method: 'POST', path: '/api/v1/db', body: { database_name } };
      await send(server.mcp, { ...LIST, method: 'tools/call', params: { name: 'fetch', arguments: given } }, session);
    }
    const principal = { act: 'create-database', principal: `key:${id}`, principalName: 'agent' };
    expect(recordsIn(files.on).slice(before + 1)).toEqual([
      { ...principal, outcome: 'done', database: name, databaseId: expect.any(String) },
      {
        ...principal,
        outcome: 'denied',
        code: 'permission_denied',
        reason: 'RightLacking',
        database: 'of-somebody-else',
      },
    ]);
  });

  it('is of anybody where nobody is asked who he is', async () => {
    const name = uniqueName();
    await open.api.post('/api/v1/db', { database_name: name });
    expect(recordsIn(files.off)).toMatchObject([
      { act: 'create-database', principal: 'anybody', outcome: 'done', database: name },
    ]);
  });
});
