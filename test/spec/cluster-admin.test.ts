// The admin API at the gRPC port requires the role admin on all databases, and a client cannot act as a node.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { toNodeId } from '#base';
import type { AdminRequest } from '#cluster';
import { askAdmin, askAdminAsClient } from '#transport/peer';
import { readClientAccess } from '../../src/main/commands/cluster/client-access.ts';
import { clusterCommand } from '../../src/main/commands/cluster/cluster-command.ts';
import { ADMIN_METHODS, writeAdminRequest } from '../../src/transport/admin-messages.ts';
import { GrpcFailure } from '../support/grpc-client.ts';
import { uniqueName } from '../support/grpc-requests.ts';
import { AS_FIRST, FIRST_KEY, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { tempDir } from '../support/temp-dir.ts';

const dir = tempDir();
afterAll(() => dir[Symbol.dispose]());
const auditLog = join(dir.path, 'audit.jsonl');
const { server, api } = await startGuardedNode('--peer-port=0', `--audit-log=${auditLog}`);

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(line: string, key: string): Promise<Ran> {
  const file = join(dir.path, 'key');
  writeFileSync(file, `${key}\n`);
  let [out, err] = ['', ''];
  const code = await clusterCommand([...line.split(' '), '--address', server.grpc, '--key-file', file], {
    ask: askAdmin,
    askSecurely: () => {
      throw new Error('a client does not ask as a node');
    },
    askAsClient: (files) => (address, request, timeoutMs) =>
      askAdminAsClient(address, request, { timeoutMs, ...readClientAccess(files) }),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment: { CAIRN_PEER_SECRET_FILE: '/nowhere' },
  });
  return { code, out, err };
}

const DRAIN = { kind: 'drain', node: toNodeId(1), isGranted: false, stays: true, isDryRun: false } as const;

async function codeOf(order: AdminRequest['order'], metadata: Readonly<Record<string, string>>): Promise<string> {
  const bytes = writeAdminRequest({ order, isPassedOn: true });
  try {
    await server.client.sendBytes(ADMIN_METHODS[order.kind], bytes, { metadata });
    return 'OK';
  } catch (failure) {
    if (failure instanceof GrpcFailure) return failure.code;
    throw failure;
  }
}

describe('SPEC-AUTH-ROLES: the admin API at the gRPC port', () => {
  it('serves the command, with the key of an administrator', async () => {
    const { code, out } = await run('status', FIRST_KEY);
    expect([code, out]).toEqual([0, expect.stringContaining('node 1 leads its catalog; reported by node 1')]);
    const { key } = await issueKey(api, 'admin');
    expect(await run('drain --dry-run', key)).toEqual({
      code: 3,
      out: '',
      err: expect.stringMatching(/^cairn cluster: the catalog, in which 1 vote, would have no quorum/),
    });
    expect(await run('undrain', key)).toMatchObject({ code: 0, out: 'node 1 accepts leaderships and clients\n' });
    const wanted = { code: 1, err: expect.stringContaining('is the only one') };
    expect(await run('decommission 1', key)).toMatchObject(wanted);
    expect(await run('recommission 9', key)).toMatchObject({ code: 1, err: expect.stringContaining('no node 9') });
  });

  it('shows the copies that a database was created with, and changes them', async () => {
    const [over, below] = [uniqueName(), uniqueName()];
    await server.client.send('createDatabase', { databaseName: over, copies: 5 }, { metadata: AS_FIRST });
    await api.post('/api/v1/db', { database_name: below, copies: 1 }, AS_FIRST);
    const copies = async (): Promise<readonly unknown[]> => {
      const { out } = await run('status --json', FIRST_KEY);
      const { databases } = JSON.parse(out) as { databases: readonly { name: string; copies: number }[] };
      return [over, below].map((name) => databases.find((each) => each.name === name)?.copies);
    };
    expect(await copies()).toEqual([5, 1]);
    expect(await run(`copies ${over} 7`, FIRST_KEY)).toMatchObject({ code: 0, err: '' });
    expect(await run(`copies ${below} default`, FIRST_KEY)).toMatchObject({ code: 0, err: '' });
    expect(await copies()).toEqual([7, 0]);
    const absent = { code: 1, err: 'cairn cluster: there is no database absent\n' };
    expect(await run('copies absent 3', FIRST_KEY)).toMatchObject(absent);
  });

  it.each([['reader'], ['writer'], ['deployer'], ['admin:shop']])('refuses every request by %s', async (role) => {
    const { headers, key } = await issueKey(api, role);
    for (const order of [DRAIN, { ...DRAIN, isDryRun: true }, { kind: 'describe' }, { kind: 'finalize' }] as const) {
      expect(await codeOf(order, headers)).toBe('PERMISSION_DENIED');
    }
    const refused = await run('drain 1 --stay', key);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('lacks the right to administer')]);
  });

  it('refuses callers without a credential, or with a wrong one', async () => {
    expect(await codeOf({ kind: 'describe' }, {})).toBe('UNAUTHENTICATED');
    expect(await codeOf({ kind: 'describe' }, { 'x-api-key': `${FIRST_KEY}x` })).toBe('UNAUTHENTICATED');
    expect((await run('status', `${FIRST_KEY}x`)).code).toBe(1);
  });

  it('does not accept from a client that the leader of the catalog has checked a drain', async () => {
    expect(await codeOf({ ...DRAIN, isGranted: true }, AS_FIRST)).toBe('FAILED_PRECONDITION');
    expect(await codeOf({ ...DRAIN, stays: false, isGranted: true }, AS_FIRST)).toBe('FAILED_PRECONDITION');
    expect(await codeOf({ kind: 'describe' }, AS_FIRST)).toBe('OK');
  });

  it('names a malformed order as such', async () => {
    await expect(
      server.client.sendBytes(ADMIN_METHODS.decommission, Buffer.alloc(0), { metadata: AS_FIRST }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('writes one audit record of each order, also when it was refused or denied', async () => {
    const before = readFileSync(auditLog, 'utf8').length;
    const { id, headers } = await issueKey(api, 'writer');
    await codeOf(DRAIN, headers);
    await codeOf(DRAIN, AS_FIRST);
    const lines = readFileSync(auditLog, 'utf8').slice(before).trim().split('\n');
    const records = lines.map((line) => JSON.parse(line) as { readonly principal: string });
    const about = { act: 'drain-node', onNode: 1, mode: 'stay' };
    expect(records).toMatchObject([
      { act: 'issue-api-key' },
      { ...about, principal: `key:${id}`, outcome: 'denied', code: 'permission_denied' },
      { ...about, principal: 'bootstrap', outcome: 'failed', code: 'failed_precondition' },
    ]);
  });
});
