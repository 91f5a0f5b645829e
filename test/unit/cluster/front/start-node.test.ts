// Goal: the node in its three threads does what the core does in one: it keeps what it answered through a restart, is
// reached by others, and counts what it does. Method: a real node on real files.

import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CATALOG_GROUP, replicaOf, toLogIndex, toTerm } from '#base';
import {
  type Envelope,
  type NodeOptions,
  nativeCrc32,
  nativeRandom,
  PeerCodec,
  PeerMail,
  startNode,
  toStoreId,
} from '#cluster';
import { createMetrics, silentLogger } from '#observability';
import { CORE_WORKER } from '../../../../src/main/core-worker-url.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { LinkedNode, placeOf } from '../../../support/peer-nodes.ts';
import { testDir } from '../../../support/test-scope.ts';

let directory = '';

beforeEach(() => {
  directory = testDir();
});

async function freePorts(): Promise<readonly [number, number]> {
  await using one = await LinkedNode.open(placeOf(8));
  await using other = await LinkedNode.open(placeOf(9));
  return [one.links.port, other.links.port];
}

async function open(options: Partial<NodeOptions> = {}): ReturnType<typeof startNode> {
  const node = await startNode({
    coreWorker: CORE_WORKER,
    dataDirectory: directory,
    name: 'test',
    logger: silentLogger,
    metrics: createMetrics({ runtime: false }),
    disk: { ballastBytes: 0 },
    ...options,
  });
  onTestFinished(async () => node.drain());
  return node;
}

describe('a node', () => {
  it('keeps databases and transactions through a clean restart', async () => {
    const first = await open();
    const { binding } = await first.createDatabase('shop');
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((text) => first.transact(binding.group, databaseKit.payload(text))),
    );
    expect(outcomes.map((outcome) => outcome.revision)).toEqual([1, 2, 3]);
    expect(await first.latest(binding.group)).toBe(3);
    expect(await databaseKit.history(first.reader, binding.group)).toEqual(['a', 'b', 'c']);
    await first.drain();

    const second = await open();
    expect(second.identity).toEqual(first.identity);
    expect(second.catalog.list()).toEqual([binding]);
    expect(second.applied(binding.group)).toBe(3);
    expect(await second.latest(binding.group)).toBe(3);
    expect(await second.transact(binding.group, databaseKit.payload('d'))).toMatchObject({
      kind: 'committed',
      revision: 4,
    });
    expect(await second.transact(binding.group, databaseKit.payload('a'))).toEqual({ kind: 'replayed', revision: 1 });
    expect(await second.deleteDatabase('shop')).toEqual({ kind: 'deleted', binding });
    await expect(second.transact(binding.group, databaseKit.payload('e'))).rejects.toMatchObject({ code: 'not_found' });
    await second.drain();
  });

  it('hears and answers another node beside the core, where that node is (TP3)', async () => {
    const [port, otherPort] = await freePorts();
    const metrics = createMetrics({ runtime: false });
    const peers = [{ ...placeOf(2), host: '127.0.0.1', port: otherPort }];
    const node = await open({ metrics, links: { host: '127.0.0.1', port, peers } });
    const { clusterId, storeId, node: number } = node.identity;
    const self = { node: number, store: toStoreId(storeId) };
    const other = await LinkedNode.open(placeOf(2), { clusterId, port: otherPort });
    const heard: Envelope[] = [];
    const parts = { clusterId, self: other.place, crc32: nativeCrc32, random: nativeRandom };
    const mail = new PeerMail({ codec: new PeerCodec(parts), links: other.links, observer: other.observed });
    mail.open({
      receive: (_from, messages) => void heard.push(...messages),
      forwarded: () => undefined,
      receiveLetter: () => undefined,
      room: () => undefined,
      unreachable: () => undefined,
      reachable: () => undefined,
    });
    mail.setPeers([{ ...self, host: '127.0.0.1', port }]);
    const [from, to] = [replicaOf(other.place.node), replicaOf(number)];
    const nothing = { index: toLogIndex(0), term: toTerm(0) };
    const question = { kind: 'pre-vote-request', term: toTerm(0), last: nothing, commit: nothing } as const;
    await vi.waitFor(
      () => {
        mail.send(number, [{ group: CATALOG_GROUP, from, to, message: question }]);
        expect(heard[0]).toMatchObject({ group: CATALOG_GROUP, from: to, to: from });
      },
      { timeout: 10_000, interval: 100 },
    );
    expect(heard[0]?.message).toMatchObject({ kind: 'pre-vote-reply', isGranted: false });
    await vi.waitFor(async () => expect((await metrics.render()).body).toContain('cairn_peer_active{peer="2"} 1'), {
      timeout: 10_000,
      interval: 100,
    });
    await node.drain();
    await vi.waitFor(() => expect(other.observed.notes.map(({ event }) => event)).toContain('peer-lost'));
    await mail.close();
  });

  it('refuses to start where others cannot reach it', async () => {
    await using other = await LinkedNode.open(placeOf(2));
    const opening = open({ links: { host: '127.0.0.1', port: other.links.port, peers: [] } });
    await expect(opening).rejects.toThrow('Cannot listen for peers on');
  });

  it('counts what it does', async () => {
    const metrics = createMetrics({ runtime: false });
    const node = await open({ metrics });
    const { binding } = await node.createDatabase('shop');
    for (const text of ['a', 'b', 'c']) await node.transact(binding.group, databaseKit.payload(text));
    await node.latest(binding.group);
    const { body } = await metrics.render();
    const read = (name: string): number => Number(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'm').exec(body)?.[1]);
    expect(read('cairn_raft_proposal_duration_seconds_count')).toBe(4);
    expect(read('cairn_raft_read_index_duration_seconds_count')).toBe(1);
    expect(read('cairn_raft_is_leader')).toBe(2);
    expect(read('cairn_raft_election_total')).toBe(2);
    expect(read('cairn_raft_leader_changes_total')).toBe(2);
    expect(read('cairn_raft_term')).toBe(1);
    // Two no-ops, the level, one creation, three transactions.
    expect(read('cairn_raft_proposals_applied_total')).toBe(7);
    expect(read('cairn_raft_proposals_committed_total')).toBe(7);
    for (const index of ['last', 'committed', 'applied']) expect(read(`cairn_raft_${index}_index`)).toBe(7);
    expect(read('cairn_wal_fsync_duration_seconds_count')).toBeGreaterThanOrEqual(6);
    // The three transactions may share a batch.
    expect(read('cairn_store_commit_duration_seconds_count')).toBeGreaterThanOrEqual(4);
    expect(read('cairn_disk_capacity_bytes')).toBeGreaterThan(0);
    await node.drain();
    await expect(node.transact(binding.group, databaseKit.payload('late'))).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect((await metrics.render()).body).toContain('cairn_rejected_total{reason="draining"} 1');
  });
});
