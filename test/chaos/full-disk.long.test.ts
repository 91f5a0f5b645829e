// Goal: a disk that is filled by transactions, under load, or before the node starts loses no acknowledged data (W13,
// W15). Method: a real node on its own tmpfs, filled by transactions and from outside.
import { describe, expect, it, vi } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { mountDisk, SOON, startOn, transact } from '../support/full-disk.ts';
import { failureOf, GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { lacksTool } from '../support/needed-tools.ts';

const TIMEOUT_MS = 120_000;

/** Writes with several clients until all are refused; returns the refusals. */
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

describe.skipIf(lacksTool('unshare', 'nsenter'))('a disk that is full', () => {
  it('of transactions refuses writes, and takes them again after a delete (W15)', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const node = await startOn(disk);
    await using client = new TestClient(node.grpc);
    for (const databaseName of ['large', 'small']) await client.send('createDatabase', { databaseName });
    await transact(client, 'small', 1);
    for (const refusal of await fill(client, 'large')) {
      expect(refusal).toMatchObject({ code: 'RESOURCE_EXHAUSTED', info: { metadata: { reason: 'DiskFull' } } });
    }
    await client.send('deleteDatabase', { databaseName: 'large', databaseId: undefined });
    expect((await vi.waitFor(() => transact(client, 'small', 1), SOON)).revision).toBe(2);
    expect(node.log()).not.toContain('"fatal"');
  });

  it('to the last byte under load loses nothing', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const node = await startOn(disk);
    const { ledger, proof, writers } = await load(node);
    await vi.waitFor(() => expect(acknowledged(ledger)).toBeGreaterThan(20), SOON);

    disk.fillUpTo(0);
    await writers.ended;
    await writers.stop();

    // A store whose write failed in the middle cannot continue: the process ends and logs the reason in one line.
    node.kill('SIGTERM');
    const end = await node.ended;
    expect([0, 70]).toContain(end);
    expect(node.log().match(/"event":"fatal"/g) ?? []).toHaveLength(end === 70 ? 1 : 0);
    disk.empty();
    const next = await startOn(disk);
    await proof.check(next.grpc);
    expect(proof.summary().acknowledged).toBeGreaterThan(20);
    await using client = new TestClient(next.grpc);
    await vi.waitFor(() => client.send('createDatabase', { databaseName: 'after' }), SOON);
  });

  it('to the last byte stops all writes, and none of the reads', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const node = await startOn(disk);
    await using client = new TestClient(node.grpc);
    await client.send('createDatabase', { databaseName: 'kept' });
    await transact(client, 'kept', 1);
    disk.fillUpTo(0);
    await vi.waitFor(() => expect(node.log()).toContain('"diskLevel":"read-only"'), SOON);
    for (const write of [transact(client, 'kept', 1), client.send('deleteDatabase', { databaseName: 'kept' })]) {
      expect(await failureOf(write)).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    }
    expect((await fetch(`${node.http}/databases/kept/events/1`)).status).toBe(200);
    disk.empty();
    expect((await vi.waitFor(() => transact(client, 'kept', 1), SOON)).revision).toBe(2);
    expect(node.log()).not.toContain('"fatal"');
  });

  it('before the node starts ends the start with the reason', { timeout: TIMEOUT_MS }, async () => {
    const disk = await mountDisk();
    const first = await startOn(disk);
    await using before = new TestClient(first.grpc);
    await before.send('createDatabase', { databaseName: 'kept' });
    await transact(before, 'kept', 1);
    first.kill('SIGKILL');
    await first.ended;
    disk.fillUpTo(0);

    await expect(startOn(disk)).rejects.toThrow(/ended with 74 .*is full: the store could not be opened/su);
    disk.empty();
    const node = await startOn(disk);
    await using client = new TestClient(node.grpc);
    expect((await fetch(`${node.http}/databases/kept/events/1`)).status).toBe(200);
    expect((await transact(client, 'kept', 1)).revision).toBe(2);
  });
});

/** Starts writers on a new database. */
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
