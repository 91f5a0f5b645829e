// Goal: a full disk is answered and survived (W13, W15): transactions are refused with RESOURCE_EXHAUSTED and 507,
// reads and health go on, a delete gives space back, and a node starts on a disk that is full. Method: a real node on a
// tmpfs of its own, filled by transactions and from outside.
import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { SmallDisk } from '../../chaos/support/small-disk.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import type { ScanDatabaseLogRequest } from '../../src/transport/grpc/gen/cairn/v1/database.ts';
import { Direction, Event } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { failureOf, GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { endWithTest } from '../support/test-scope.ts';

const MIB = 2 ** 20;
const TIMEOUT_MS = 120_000;
const DISK_BYTES = 96 * MIB;
/** Small, so that the thresholds that follow from them are: 8 MiB hard, 35 MiB soft. */
const SETTINGS = ['--wal-segment-bytes=4MiB', '--store-write-buffer-bytes=1MiB', '--ballast-bytes=12MiB'];
const REFILLS_MAX = 10;
const SOON = { timeout: 60_000, interval: 100 };

/** A disk of the running test. It goes after the nodes that were started on it. */
async function mountDisk(): Promise<SmallDisk> {
  const disk = await SmallDisk.mount(DISK_BYTES);
  onTestFinished(async () => disk[Symbol.asyncDispose]());
  return disk;
}

async function start(disk: SmallDisk, settings: readonly string[] = SETTINGS): Promise<NodeProcess> {
  return startNode({ dataDir: disk.directory('data'), under: disk.under, settings, onSpawn: endWithTest });
}

/** A transaction that takes about as many bytes as it may. */
function transact(client: TestClient, databaseName: string, eventBytes = 8000): Promise<{ readonly revision: number }> {
  const event = (): Event =>
    Event.fromPartial({ id: randomUUID(), specVersion: '1.0', ty: 't', source: '/s', data: randomBytes(eventBytes) });
  const events = Array.from({ length: 100 }, event);
  const transaction = { events, constraints: [], transactionId: randomUUID(), options: undefined };
  const rest = { events: [], constraints: [], options: undefined };
  return client.send('transact', { databaseName, transaction, ...rest });
}

/** Writes by several clients at a time until all of them are refused; answers how. */
async function fill(client: TestClient, database: string): Promise<readonly GrpcFailure[]> {
  const untilRefused = async (): Promise<GrpcFailure> => {
    for (;;) {
      try {
        await transact(client, database);
      } catch (failure) {
        if (failure instanceof GrpcFailure) return failure;
        throw failure;
      }
    }
  };
  return Promise.all(Array.from({ length: 4 }, untilRefused));
}

/**
 * What a full disk answers. A compaction may give space back between two requests: then the disk is filled again.
 */
async function whenFull<Answer>(
  refill: () => Promise<unknown>,
  ask: () => Promise<Answer | undefined>,
): Promise<Answer> {
  for (let attempt = 0; attempt < REFILLS_MAX; attempt++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await refill();
  }
  throw new Error(`a disk that was filled ${REFILLS_MAX} times took a write each time`);
}

/** Undefined when the request was served. */
async function refusalOf(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => undefined,
    (failure: unknown) => failure,
  );
}

async function healthOf(node: NodeProcess): Promise<{ readonly storage: { readonly status: string } }> {
  expect((await fetch(`${node.http}/health`)).status).toBe(200);
  const health: { readonly storage: { readonly status: string } } = JSON.parse(
    await (await fetch(`${node.http}/health/detailed`)).text(),
  );
  return health;
}

describe.skipIf(lacksTool('unshare', 'nsenter'))('a disk that transactions have filled', () => {
  it('refuses writes, serves reads, and takes writes again after a delete (W15)', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const disk = await mountDisk();
    const node = await start(disk);
    await using client = new TestClient(node.grpc);
    for (const databaseName of ['large', 'small', 'spare']) await client.send('createDatabase', { databaseName });
    await transact(client, 'small', 1);

    const refill = (): Promise<readonly GrpcFailure[]> => fill(client, 'large');
    const refusals = await refill();

    const full = { code: 'RESOURCE_EXHAUSTED', info: { reason: 'storage_full', metadata: { reason: 'DiskFull' } } };
    for (const refusal of refusals) expect(refusal).toMatchObject(full);
    expect(await whenFull(refill, () => refusalOf(transact(client, 'spare', 1)))).toMatchObject(full);
    const create = (): Promise<unknown> => client.send('createDatabase', { databaseName: `other-${randomUUID()}` });
    expect(await whenFull(refill, () => refusalOf(create()))).toMatchObject(full);
    const body = JSON.stringify({ events: [{ specversion: '1.0', id: '1', type: 't', source: '/s' }] });
    const headers = { 'content-type': 'application/json' };
    const refused = await whenFull(refill, async () => {
      const reply = await fetch(`${node.http}/databases/spare/events`, { method: 'POST', headers, body });
      return reply.ok ? undefined : reply;
    });
    const refusedLater = await whenFull(refill, async () => {
      const reply = await fetch(`${node.http}/api/v1/db/spare/async`, { method: 'POST', headers, body });
      return reply.ok ? undefined : reply;
    });
    expect(refusedLater.status).toBe(507);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([507, '5']);
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'RESOURCE_EXHAUSTED',
        message: expect.stringContaining('disk of this node is nearly full'),
        details: { reason: 'DiskFull' },
      },
    });
    const health = await whenFull(refill, async () => {
      const seen = await healthOf(node);
      return seen.storage.status === 'open' ? undefined : seen;
    });
    expect(health).toMatchObject({ status: 'degraded', storage: { status: 'refusing-writes' } });
    expect((await fetch(`${node.http}/databases/small/events/1`)).status).toBe(200);
    const { messages } = await client.collect('scanLogBatches', scanOf('small'));
    expect(messages.flatMap((batch) => batch.transactions)).toHaveLength(1);

    await client.send('deleteDatabase', { databaseName: 'large', databaseId: undefined });

    const again = await vi.waitFor(() => transact(client, 'small', 1), SOON);
    expect(again.revision).toBe(2);
    expect(await healthOf(node)).toMatchObject({ storage: { status: 'open' } });
    expect(node.log()).not.toContain('"fatal"');
  });
});

describe.skipIf(lacksTool('unshare', 'nsenter'))('a disk that somebody else has filled', () => {
  it('under load is answered with refusals, and writes go on when it is emptied', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const node = await start(disk);
    const { ledger, proof, writers } = await load(node);
    await vi.waitFor(() => expect(acknowledged(ledger)).toBeGreaterThan(20), SOON);

    // Between the levels: what is under way has room.
    disk.fillUpTo(30 * MIB);
    await writers.ended;

    expect(new Set(writers.refused.map(({ code }) => code))).toEqual(new Set([8]));
    await writers.stop();
    await proof.check(node.grpc);
    disk.empty();
    await using client = new TestClient(node.grpc);
    await vi.waitFor(() => client.send('createDatabase', { databaseName: 'after' }), SOON);
    expect(node.log()).not.toContain('"fatal"');
  });

  it('to the last byte under load loses nothing, and the node is there again on its ballast', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const disk = await mountDisk();
    const node = await start(disk);
    await hasBallast(disk);
    const { ledger, proof, writers } = await load(node);
    await vi.waitFor(() => expect(acknowledged(ledger)).toBeGreaterThan(20), SOON);

    disk.fillUpTo(0);
    await writers.ended;
    await writers.stop();

    // A store that was refused a write in the middle cannot go on: then the process ends, and says why in one line.
    node.kill('SIGTERM');
    const end = await node.ended;
    expect([0, 70]).toContain(end);
    expect(node.log().match(/"event":"fatal"/g) ?? []).toHaveLength(end === 70 ? 1 : 0);
    // What the ballast has left is all that there is.
    const next = await start(disk);
    await proof.check(next.grpc);
    expect(proof.summary().acknowledged).toBeGreaterThan(20);
    disk.empty();
    await using client = new TestClient(next.grpc);
    await vi.waitFor(() => client.send('createDatabase', { databaseName: 'after' }), SOON);
  });

  it('to the last byte while the node is at rest gives the ballast up, so that deletes go on (W15)', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const disk = await mountDisk();
    const node = await start(disk);
    await using client = new TestClient(node.grpc);
    await client.send('createDatabase', { databaseName: 'kept' });
    await transact(client, 'kept', 1);
    await hasBallast(disk);

    disk.fillUpTo(0);
    await vi.waitFor(() => expect(disk.availableBytes).toBeGreaterThan(8 * MIB), SOON);

    expect(await failureOf(transact(client, 'kept', 1))).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    expect(await client.send('fetchLatestDatabase', { databaseName: 'kept' })).toMatchObject({
      database: { revision: 1 },
    });
    await client.send('deleteDatabase', { databaseName: 'kept', databaseId: undefined });
    disk.empty();
    await vi.waitFor(() => client.send('createDatabase', { databaseName: 'after' }), SOON);
  });

  it('before the node starts: it starts on its ballast, and says so', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const first = await start(disk);
    await using before = new TestClient(first.grpc);
    await before.send('createDatabase', { databaseName: 'kept' });
    await transact(before, 'kept', 1);
    await hasBallast(disk);
    first.kill('SIGKILL');
    await first.ended;
    disk.fillUpTo(0);

    const node = await start(disk);

    expect(node.log()).toContain('"diskLevel":"refusing-writes"');
    await using client = new TestClient(node.grpc);
    expect(await failureOf(transact(client, 'kept', 1))).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    expect((await fetch(`${node.http}/databases/kept/events/1`)).status).toBe(200);
    disk.empty();
    expect((await vi.waitFor(() => transact(client, 'kept', 1), SOON)).revision).toBe(2);
  });

  it('before the node starts, without a ballast: it does not start, and says what to do', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const disk = await mountDisk();
    const bare = ['--wal-segment-bytes=4MiB', '--ballast-bytes=0'];
    const first = await start(disk, bare);
    first.kill('SIGKILL');
    await first.ended;
    disk.fillUpTo(0);
    await expect(start(disk, bare)).rejects.toThrow(/ended with 1 .*The disk of .* is full.*cannot-start/s);
    disk.empty();
    await start(disk, bare);
  });
});

/** Resolves when the ballast is whole. */
async function hasBallast(disk: SmallDisk): Promise<void> {
  await vi.waitFor(() => expect(statSync(`${disk.outside}/data/ballast`).size).toBe(12 * MIB), SOON);
}

/** Writers at work on a new database. */
async function load(
  node: NodeProcess,
): Promise<{ readonly ledger: Ledger; readonly proof: Proof; readonly writers: Writers }> {
  using client = new StoreClient(node.grpc);
  const database = await client.createDatabase('load');
  const ledger: Ledger = new Map();
  const writers = new Writers({ address: node.grpc, database: 'load', fillerBytes: 700 }, ledger);
  writers.start(8);
  return { ledger, proof: new Proof(database, ledger), writers };
}

function acknowledged(ledger: Ledger): number {
  return [...ledger.values()].filter(({ outcome }) => outcome.kind === 'acknowledged').length;
}

function scanOf(databaseName: string): ScanDatabaseLogRequest {
  return { databaseName, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };
}
