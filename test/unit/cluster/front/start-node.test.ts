// Goal: the node in its three threads does what the core does in one: it keeps what it answered through restarts and
// kill -9, refuses what it must, and ends with code 70 when it cannot go on. Method: real processes on real files.

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CATALOG_GROUP, replicaOf, toLogIndex, toTerm } from '#base';
import {
  type Envelope,
  EXIT_FATAL,
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
import { endWithTest, testDir } from '../../../support/test-scope.ts';

const BARE_NODE = join(import.meta.dirname, '../../../support/cluster/bare-node.ts');
/** Places where a log is cut, in turn. */
const CUTS = 8;
let directory = '';

beforeEach(() => {
  directory = testDir();
});

/** A node in a process of its own, and what it says. */
class BareNode {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #errors = '';
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  constructor(from: number, count?: number) {
    const words = [directory, String(from), ...(count === undefined ? [] : [String(count)])];
    this.#child = spawn(process.execPath, ['--conditions=source', BARE_NODE, ...words], { stdio: 'pipe' });
    endWithTest(this.#child);
    this.#child.stderr?.on('data', (bytes: Buffer) => (this.#errors += bytes.toString()));
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.lines.push(line);
        this.#wake.resolve();
        this.#wake = Promise.withResolvers();
      });
    }
    this.#exit = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        this.#isOver = true;
        resolve(code);
        this.#wake.resolve();
      });
    });
  }

  async until(isReached: (lines: readonly string[]) => boolean): Promise<void> {
    while (!isReached(this.lines)) {
      if (this.#isOver) throw new Error(`the node ended before it said that: ${this.#errors}`);
      await this.#wake.promise;
    }
  }

  async end(signal?: 'SIGKILL' | 'SIGTERM'): Promise<{ readonly code: number | null; readonly errors: string }> {
    if (signal !== undefined) this.#child.kill(signal);
    return { code: await this.#exit, errors: this.#errors };
  }

  /** What was answered: text by revision. */
  get answered(): ReadonlyMap<number, string> {
    const words = this.lines.filter((line) => line.startsWith('ok ')).map((line) => line.split(' '));
    return new Map(words.map(([, text = '', revision]) => [Number(revision), text]));
  }
}

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

  it('names the log of its store when that was cut, and what is left does not go with its own log', async () => {
    const first = await open();
    const { binding } = await first.createDatabase('shop');
    for (const text of ['a', 'b', 'c']) await first.transact(binding.group, databaseKit.payload(text));
    await first.drain();
    const name = readdirSync(join(directory, 'store')).find((file) => /^\d+\.log$/.test(file)) ?? '';
    const { size } = statSync(join(directory, 'store', name));
    const refusals: string[] = [];
    for (let bytes = 0; bytes < size; bytes += Math.ceil(size / CUTS)) {
      const dataDirectory = testDir();
      cpSync(directory, dataDirectory, { recursive: true });
      const path = join(dataDirectory, 'store', name);
      truncateSync(path, bytes);
      const refusal = await open({ dataDirectory }).then(
        (node) => node.drain(),
        ({ message }: Error) => message.replaceAll(path, 'THE LOG'),
      );
      if (refusal !== undefined) refusals.push(refusal);
    }
    expect(refusals.length).toBeGreaterThan(1);
    for (const refusal of refusals) expect(refusal).toContain('THE LOG');
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

  // Five starts, one after the other.
  it('loses nothing that it answered when it is killed, again and again (C2)', { timeout: 60_000 }, async () => {
    const answered = new Map<number, string>();
    // The third node has what two kills left; the last one reads it all.
    for (let round = 0; round < 4; round += 1) {
      const node = new BareNode(round * 100_000);
      await node.until((lines) => lines.length >= 200);
      const { code } = await node.end('SIGKILL');
      expect([code, node.lines[0]]).toEqual([null, expect.stringMatching(/^ready \d+$/)]);
      for (const [revision, text] of node.answered) {
        expect(answered.has(revision)).toBe(false);
        answered.set(revision, text);
      }
    }
    const node = await open();
    const group = node.catalog.lookup('shop')?.group;
    const history = group === undefined ? [] : await databaseKit.history(node.reader, group);
    await node.drain();
    expect(answered.size).toBeGreaterThan(700);
    expect([...answered].filter(([revision, text]) => history[revision - 1] !== text)).toEqual([]);
    expect(new Set(history).size).toBe(history.length);
  });

  it('refuses a directory that another process has open, and exits by itself', async () => {
    const first = new BareNode(0);
    await first.until((lines) => lines.length > 0);
    const second = new BareNode(0);
    expect(await second.end()).toMatchObject({ code: 2 });
    expect(second.lines).toEqual(['refused DataDirectoryInUse']);
    expect(await first.end('SIGTERM')).toMatchObject({ code: 0 });
    expect(first.lines.at(-1)).toBe('drained');
  });

  it('refuses a damaged log, and exits by itself', async () => {
    const first = new BareNode(0, 50);
    expect(await first.end()).toMatchObject({ code: 0 });
    const log = join(directory, 'log');
    for (const name of readdirSync(log)) truncateSync(join(log, name), 100);
    const second = new BareNode(50, 1);
    const { code } = await second.end();
    expect([code, second.lines.length]).toEqual([2, 1]);
    expect(second.lines[0]).toMatch(/^refused /);
  });

  it('ends with code 70 and one line when its store breaks under it', async () => {
    const node = new BareNode(0);
    await node.until((lines) => lines.length >= 50);
    // Its directory goes away: the next checkpoint cannot sync what is in it.
    rmSync(join(directory, 'store'), { recursive: true, force: true });
    const { code, errors } = await node.end();
    const fatal = errors.split('\n').filter((line) => line.includes('"fatal"'));
    expect([code, fatal.length]).toEqual([EXIT_FATAL, 1]);
    expect(JSON.parse(fatal[0] ?? '')).toMatchObject({ event: 'fatal', level: 'error', isolate: 'core', exitCode: 70 });
  });
});
