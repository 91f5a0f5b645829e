// Goal: the operator administers a cluster as a client, with the key and the authority in its Secrets. Method: a real
// node with TLS and authentication; its Secrets are on an API server in memory.
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { CairnCluster } from '../../../operator/src/api/index.ts';
import { descriptionOf } from '../../../operator/src/client/cluster-admin.ts';
import {
  Channel,
  failedWith,
  GrpcClusterAdmin,
  Identities,
  nodeAddress,
  serviceAddress,
} from '../../../operator/src/client/index.ts';
import { Api } from '../../../operator/src/kube/index.ts';
import { ClusterAdminService, DescribeClusterReply } from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { Authority } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST_KEY } from '../../support/guarded-node.ts';
import { MemoryApi } from '../../support/kube-api/memory-api.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { startTestServer } from '../../support/server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { LOOPBACK_NAMES, TlsFiles } from '../../support/tls-files.ts';

const CLOSED = '127.0.0.1:1';
const authority = new Authority();
const stranger = new Authority('another authority');
const dir = tempDir();
const files = new TlsFiles(dir.path);
const issued = authority.issue({ cn: 'first', names: LOOPBACK_NAMES });
files.put(issued);
const keyFile = join(dir.path, 'first-key');
writeFileSync(keyFile, FIRST_KEY);
const server = await startTestServer(
  ...files.settings,
  '--peer-port=0',
  '--auth=on',
  `--auth-bootstrap-key-file=${keyFile}`,
);
const address = server.grpc.replace('127.0.0.1', 'localhost');
const identity = { key: FIRST_KEY, tls: { authorities: authority.cert } };

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

const CLUSTER = {
  apiVersion: 'cairn.dev/v1alpha1',
  kind: 'CairnCluster',
  metadata: { name: 'shop', namespace: 'events', uid: 'one', generation: 1 },
  spec: { auth: { enabled: true }, tls: { disabled: false }, peers: {}, network: { clusterDomain: 'cluster.local' } },
} as unknown as CairnCluster;

function secretsOf(data: Readonly<Record<string, Readonly<Record<string, string>>>>): Identities {
  const runtime = new ManualRuntime();
  const memory = new MemoryApi(runtime);
  for (const [name, fields] of Object.entries(data)) {
    const target = { collection: '/api/v1/secrets', namespace: 'events', name, isStatus: false };
    const encoded = Object.entries(fields).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    memory.store.create(target, { metadata: { name }, data: Object.fromEntries(encoded) }, 'test');
  }
  return new Identities(new Api(memory, runtime));
}

it('describes a cluster by any address that answers, with the credentials of its Secrets', async () => {
  const identities = secretsOf({
    'shop-auth': { 'bootstrap-key': `${FIRST_KEY}\n` },
    'shop-tls': { 'ca.crt': authority.cert, 'tls.crt': issued.cert, 'tls.key': issued.key },
  });
  const found = await identities.of(CLUSTER);
  expect(found).toEqual(identity);
  const admin = new GrpcClusterAdmin([CLOSED, address], found);
  const node = { id: 1, state: 'active', answers: true, role: 'voter', isDraining: false, release: '0.1.0' };
  // A node that has just founded its cluster is not registered at once.
  await eventually(async () =>
    expect(await admin.describe()).toMatchObject({ isConfirmed: true, databases: [], nodes: [node] }),
  );
  const { bavail, blocks } = statfsSync(dir.path);
  const [described] = (await admin.describe()).nodes;
  expect(Math.abs((described?.diskUsedPercent ?? 0) - 100 * (1 - bavail / blocks))).toBeLessThan(2);
});

it('describes a database that no node leads without a leader (KC4, KC9)', () => {
  // Two of the field databases: name is field 1 of each, leader is field 7.
  const led = [0x0a, 3, ...Buffer.from('led'), 7 << 3, 2];
  const lost = [0x0a, 4, ...Buffer.from('lost')];
  const bytes = Uint8Array.from([led, lost].flatMap((each) => [0x2a, each.length, ...each]));
  expect(descriptionOf(DescribeClusterReply.decode(bytes)).databases).toMatchObject([
    { name: 'led', leader: 2 },
    { name: 'lost', leader: undefined },
  ]);
});

it('rejects with the reason of the cluster when the cluster refuses a request', async () => {
  const admin = new GrpcClusterAdmin([address], identity);
  const drained = admin.order('drain', 1);
  await expect(drained).rejects.toThrow(/would have no quorum/);
  await expect(drained).rejects.toSatisfy((error) => failedWith(error, 'FAILED_PRECONDITION'));
  await expect(admin.order('decommission', 7)).rejects.toSatisfy((error) => failedWith(error, 'NOT_FOUND'));
  await expect(admin.finalize()).resolves.toBeUndefined();
  await expect(admin.recover('shop', 1)).rejects.toThrow('node 1 has no replica of database shop');
});

it('fails without the key, with another authority, and when no address answers', async () => {
  const withoutKey = new GrpcClusterAdmin([address], { tls: identity.tls });
  await expect(withoutKey.describe()).rejects.toSatisfy((error) => failedWith(error, 'UNAUTHENTICATED'));
  const strange = new GrpcClusterAdmin([address], { ...identity, tls: { authorities: stranger.cert } });
  await expect(strange.describe()).rejects.toSatisfy((error) => failedWith(error, 'UNAVAILABLE'));
  await expect(new GrpcClusterAdmin([CLOSED], identity).describe()).rejects.toThrow(/127\.0\.0\.1:1/);
  await expect(secretsOf({}).of(CLUSTER)).rejects.toThrow('Secret "shop-auth" does not exist');
});

it('ends a call with its signal (KG1)', async () => {
  using channel = new Channel(address, identity);
  const over = new AbortController();
  const called = channel.call(ClusterAdminService.describeCluster, { isPassedOn: false }, { signal: over.signal });
  over.abort();
  await expect(called).rejects.toSatisfy((error) => failedWith(error, 'CANCELLED'));
});

it('the addresses of a cluster and its nodes have the names in their certificates', () => {
  expect(serviceAddress(CLUSTER)).toBe('shop.events.svc.cluster.local:50051');
  expect(nodeAddress(CLUSTER, 'shop-2')).toBe('shop-2.shop-headless.events.svc.cluster.local:50051');
});
