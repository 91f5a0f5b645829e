// A node needs the peer secret to join, and joins are audited (S1); names of live nodes are unique (K10).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAddress } from '#base';
import { askAdmin, type PeerTls } from '#transport/peer';
import { readPeerTls } from '../../src/main/tls/peer-tls.ts';
import { eventually } from '../support/eventually.ts';
import { startServerIn, startTestServer, type TestServer } from '../support/server.ts';
import { testDir } from '../support/test-scope.ts';

/** Long enough for an answer of the other node on a busy machine. */
const JOIN_WAIT = '--join-wait-ms=3000';

/** The names of the nodes; undefined when the node does not answer. */
async function namesAt(peer: string, tls?: PeerTls): Promise<readonly string[] | undefined> {
  const address = parseAddress(peer);
  const request = { order: { kind: 'describe' }, isPassedOn: true } as const;
  const reply = address && (await askAdmin(address, request, 5_000, tls));
  return reply?.kind === 'described' ? reply.cluster.nodes.map(({ name }) => name) : undefined;
}

async function clusterCheckOf({ http }: TestServer): Promise<string | undefined> {
  const response = await fetch(`${http}/readyz?verbose`);
  return (await response.text()).split('\n').find((line) => line.includes(']cluster'));
}

test('a node without the secret of a cluster cannot join it, and a join is recorded in the audit log', async () => {
  const dir = testDir();
  const [secret, other] = [join(dir, 'secret'), join(dir, 'other')];
  const [key, audit] = [join(dir, 'key'), join(dir, 'audit')];
  writeFileSync(secret, `${'s'.repeat(40)}\n`);
  writeFileSync(other, 'o'.repeat(40));
  writeFileSync(key, 'k'.repeat(40));
  const guarded = ['--peer-port=0', '--auth=on', `--auth-bootstrap-key-file=${key}`];
  const shared = [...guarded, `--peer-secret-file=${secret}`];
  await using one = await startServerIn(join(dir, 'one'), ...shared, '--node-name=one', `--audit-log=${audit}`);
  const joining = (name: string, ...settings: readonly string[]): ReturnType<typeof startServerIn> =>
    startServerIn(join(dir, name), `--node-name=${name}`, `--join=${one.peer}`, JOIN_WAIT, ...settings);
  await Promise.all([
    expect(joining('stranger', '--peer-port=0')).rejects.toThrow('this port speaks TLS, and lets in peers alone'),
    expect(joining('guesser', ...guarded, `--peer-secret-file=${other}`)).rejects.toThrow(
      'that node has another --peer-secret-file',
    ),
  ]);
  const NONE = { peerTlsCertFile: 'none', peerTlsKeyFile: 'none', peerTlsCaFile: 'none' };
  const tls = readPeerTls({ ...NONE, peerSecretFile: secret });
  expect(await namesAt(one.peer)).toBeUndefined();
  expect(await namesAt(one.peer, tls)).toEqual(['one']);
  await using two = await joining('two', ...shared);
  expect(await namesAt(one.peer, tls)).toEqual(['one', 'two']);
  const lines = readFileSync(audit, 'utf8').split('\n');
  const noted: unknown = JSON.parse(lines.find((line) => line.includes('join-node')) ?? '{}');
  expect(noted).toMatchObject({
    principal: 'peer-port',
    outcome: 'done',
    nodeName: 'two',
    at: two.peer,
    from: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
});

test('a node is not ready while its peers refuse its secret, and becomes ready without a restart when they accept it', async () => {
  const dir = testDir();
  const [secret, other] = [join(dir, 'secret'), join(dir, 'other')];
  writeFileSync(secret, 's'.repeat(40));
  writeFileSync(other, 'o'.repeat(40));
  const start = (name: string, file: string, ...settings: readonly string[]): ReturnType<typeof startServerIn> =>
    startServerIn(join(dir, name), `--node-name=${name}`, `--peer-secret-file=${file}`, ...settings);
  await using first = new AsyncDisposableStack();
  const one = first.use(await start('one', secret, '--peer-port=0'));
  const joining = ['--peer-port=0', `--join=${one.peer}`];
  await (await start('two', secret, ...joining))[Symbol.asyncDispose]();
  await using two = await start('two', other, ...joining);
  const refused = /^\[-\]cluster failed: Every node .* refuses it; node 1: .*that node has another --peer-secret-file$/;
  await eventually(async () => expect(await clusterCheckOf(two)).toMatch(refused));
  await first.disposeAsync();
  await using again = await start('one', other, `--peer-port=${one.peer.slice(one.peer.lastIndexOf(':') + 1)}`);
  for (const node of [two, again]) {
    await eventually(async () => expect(await clusterCheckOf(node)).toBe('[+]cluster ok'));
  }
});

test('a node cannot join under the name of a live node', async () => {
  await using seed = await startTestServer('--peer-port=0', '--node-name=seed');
  const starting = startTestServer('--peer-port=0', '--node-name=seed', `--join=${seed.peer}`);
  await expect(starting).rejects.toThrow(/node 1 at \S+ has the name seed; start this one with another --node-name/);
  expect(await namesAt(seed.peer)).toEqual(['seed']);
});
