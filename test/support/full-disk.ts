/** A real node on a small disk that a test fills, and the writes of its clients. */
import { randomBytes, randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { SmallDisk } from '../../chaos/support/small-disk.ts';
import { Event } from '../../proto/gen/cairn/v1/event.ts';
import type { TestClient } from './grpc-client.ts';
import { SMALL_STORE, startOwnNode } from './own-node.ts';

export const MIB: number = 2 ** 20;
export const SOON = { timeout: 60_000, interval: 100 } as const;
const DISK_BYTES = 96 * MIB;

/** A disk for the running test, removed after the nodes on it have ended. */
export async function mountDisk(): Promise<SmallDisk> {
  const disk = await SmallDisk.mount(DISK_BYTES);
  onTestFinished(async () => disk[Symbol.asyncDispose]());
  return disk;
}

/** Starts a node on the disk. Its thresholds follow from the small log and store: 8 MiB hard, 35 MiB soft. */
export async function startOn(disk: SmallDisk): Promise<NodeProcess> {
  return startOwnNode(disk.directory('data'), SMALL_STORE, { under: disk.under });
}

/** Writes a transaction, by default of about the maximum size. */
export function transact(
  client: TestClient,
  databaseName: string,
  eventBytes = 8000,
): Promise<{ readonly revision: number }> {
  const event = (): Event =>
    Event.fromPartial({ id: randomUUID(), specVersion: '1.0', ty: 't', source: '/s', data: randomBytes(eventBytes) });
  const events = Array.from({ length: 100 }, event);
  const transaction = { events, constraints: [], transactionId: randomUUID(), options: undefined };
  const rest = { events: [], constraints: [], options: undefined };
  return client.send('transact', { databaseName, transaction, ...rest });
}
