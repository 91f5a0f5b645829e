// The audit log has a record of each admin request, over each interface, with authentication on and off. Reads and
// transactions have none.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AS_FIRST, FIRST_KEY, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { cloudEvent, uniqueName } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { tempDir } from '../support/temp-dir.ts';

const dir = tempDir();
const files = { on: join(dir.path, 'on.jsonl'), off: join(dir.path, 'off.jsonl') };
afterAll(() => dir[Symbol.dispose]());
const { server, api } = await startGuardedNode(`--audit-log=${files.on}`);
const open = await startHttpNode(`--audit-log=${files.off}`);

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
  it('records who did what to which object, which requests lacked a right, and which failed', async () => {
    const name = uniqueName();
    const admin = { principal: 'bootstrap', principalName: 'bootstrap' };
    const { headers: asWriter, ...issued } = await issueKey(api, `writer:${name}`);
    const writer = { principal: `key:${issued.id}`, principalName: 'of a test' };
    await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
    await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
    await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('1')] }, asWriter);
    await api.get(`/databases/${name}`, asWriter);
    await api.send(`/api/v1/db/${name}`, { method: 'DELETE', headers: asWriter });
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined }, { metadata: AS_FIRST });
    await api.send(`/api/v1/auth/keys/${issued.id}`, { method: 'DELETE', headers: AS_FIRST });
    const database = expect.stringMatching(/^[\da-f-]{36}$/);
    expect(recordsIn(files.on)).toEqual([
      { act: 'issue-api-key', ...admin, outcome: 'done', key: issued.id, name: 'of a test', roles: [`writer:${name}`] },
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

  it('records the principal anybody when authentication is off', async () => {
    const name = uniqueName();
    await open.api.post('/api/v1/db', { database_name: name });
    expect(recordsIn(files.off)).toMatchObject([
      { act: 'create-database', principal: 'anybody', outcome: 'done', database: name },
    ]);
  });
});
