// Goal: the operator administers a cluster as a client, with the key and the authority in its Secrets. Method: a real
// node with TLS and authentication; its Secrets are on an API server in memory.
import { once } from 'node:events';
import { statfsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { CairnCluster } from '../../../operator/src/api/index.ts';
import { descriptionOf } from '../../../operator/src/client/cluster-admin.ts';
import {
  Channel,
  failedWith,
  GrpcClusterAdmin,
  Identities,
  type Identity,
  type MountingPod,
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

function adminAt(addresses: readonly string[], given: Identity = identity): GrpcClusterAdmin {
  return new GrpcClusterAdmin(addresses.map((each) => ({ address: each, identity: given })));
}

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
  const admin = adminAt([CLOSED, address], found);
  const node = { id: 1, state: 'active', answers: true, role: 'voter', isDraining: false, release: '0.1.0' };
  // A node that has just founded its cluster is not registered at once.
  await eventually(async () =>
    expect(await admin.describe()).toMatchObject({ isConfirmed: true, databases: [], nodes: [node] }),
  );
  const { bavail, blocks } = statfsSync(dir.path);
  const [described] = (await admin.describe()).nodes;
  expect(Math.abs((described?.diskUsedPercent ?? 0) - 100 * (1 - bavail / blocks))).toBeLessThan(2);
});

it('asks each node with the Secrets that its pod has mounted, because the spec may have others now', async () => {
  const tls = { 'ca.crt': authority.cert, 'tls.crt': issued.cert, 'tls.key': issued.key };
  const identities = secretsOf({ 'shop-auth': { 'bootstrap-key': FIRST_KEY }, 'shop-tls': tls, own: tls });
  const podOf = (name: string, volumes: object, env: object[] = []): MountingPod => ({
    metadata: { name, namespace: 'events', uid: name, resourceVersion: '1' },
    spec: {
      volumes: Object.entries(volumes).map(([volume, secretName]) => ({ name: volume, secret: { secretName } })),
      containers: [{ env }],
    } as NonNullable<MountingPod['spec']>,
  });
  const isMutual = { name: 'CAIRN_TLS_CLIENT_AUTH', value: 'require' };
  const endpoints = await identities.ofPods(CLUSTER, [
    podOf('shop-0', { tmp: undefined }),
    podOf('shop-1', { auth: 'shop-auth', tls: 'own' }),
    podOf('shop-2', { auth: 'gone', tls: 'own' }),
    podOf('shop-3', { tls: 'shop-tls' }, [isMutual]),
  ]);
  const certificate = { chain: issued.cert, key: issued.key };
  expect(endpoints).toEqual([
    { address: nodeAddress(CLUSTER, 'shop-0'), identity: { key: undefined, tls: undefined } },
    { address: nodeAddress(CLUSTER, 'shop-1'), identity },
    { address: nodeAddress(CLUSTER, 'shop-3'), identity: { tls: { authorities: authority.cert, certificate } } },
  ]);
});

it('reads the calls of a component from all voters, and from those learners that are in service (KC14)', async () => {
  const ready = { 'shop-0': true, 'shop-1': false, 'shop-learners-0': true, 'shop-learners-1': false };
  const members = Object.entries(ready).map(([name, isReady]) => ({ name, ready: isReady }));
  const open = { ...CLUSTER.spec, auth: { enabled: false }, tls: { disabled: true } };
  const found = await secretsOf({}).metricsOf({
    ...CLUSTER,
    spec: open,
    status: { members },
  } as unknown as CairnCluster);
  const names = ['shop-0', 'shop-1', 'shop-learners-0'];
  expect(found.map((each) => each.address)).toEqual(names.map((name) => nodeAddress(CLUSTER, name, 'metrics')));
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
  const admin = adminAt([address]);
  const drained = admin.order('drain', 1);
  await expect(drained).rejects.toThrow(/would have no quorum/);
  await expect(drained).rejects.toSatisfy((error) => failedWith(error, 'FAILED_PRECONDITION'));
  await expect(admin.order('decommission', 7)).rejects.toSatisfy((error) => failedWith(error, 'NOT_FOUND'));
  await expect(admin.finalize()).resolves.toBeUndefined();
  await expect(admin.recover('shop', 1)).rejects.toThrow('node 1 has no replica of database shop');
});

it('fails without the key, with another authority, and when no address answers', async () => {
  const withoutKey = adminAt([address], { tls: identity.tls });
  await expect(withoutKey.describe()).rejects.toSatisfy((error) => failedWith(error, 'UNAUTHENTICATED'));
  const strange = adminAt([address], { ...identity, tls: { authorities: stranger.cert } });
  await expect(strange.describe()).rejects.toSatisfy((error) => failedWith(error, 'UNAVAILABLE'));
  await expect(adminAt([CLOSED]).describe()).rejects.toThrow(/127\.0\.0\.1:1/);
  await expect(secretsOf({}).of(CLUSTER)).rejects.toThrow('Secret "shop-auth" does not exist');
});

it('fails with the same reason at every attempt, because it is in a status', async () => {
  const silent = createServer();
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const reasonOf = async (place: string): Promise<string> => {
    using channel = new Channel(place, {});
    const call = channel.call(ClusterAdminService.describeCluster, { isPassedOn: false }, { deadlineMs: 50 });
    return await call.then(String, (error: Error) => error.message);
  };
  const refused = `DescribeCluster at ${CLOSED}: No connection established. Last error: Error: connect ECONNREFUSED ${CLOSED}`;
  expect(await reasonOf(CLOSED)).toBe(`${refused}. Resolution note: `);
  const deadline = `DescribeCluster at 127.0.0.1:${port}: Deadline exceeded`;
  expect([await reasonOf(`127.0.0.1:${port}`), await reasonOf(`127.0.0.1:${port}`)]).toEqual([deadline, deadline]);
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
