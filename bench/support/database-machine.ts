/** The state machine of one database on LevelDB, without a node around it, and encoded transactions for it. */
import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_BYTES, toDatabaseId, toGroupId } from '#base';
import { DatabaseMachine } from '#database';
import type { KvStore } from '#kv';
import {
  type Constraint,
  encodeEvent,
  encodeTransactPayload,
  NO_OPTIONS,
  ORIGIN,
  SPEC_VERSION,
  stampPayload,
} from '#model';
import { openLevelStore } from '#storage';

export const CREATED_AT_MS = 1_767_225_600_000;

/** An event with a unique number; all of them have the same stream and type. */
export function encodeOrder(number: number, subject: string, data: Uint8Array): Uint8Array {
  return encodeEvent({
    id: `0199a5c8-3c1e-7a2b-9f00-${String(number).padStart(12, '0')}`,
    specVersion: SPEC_VERSION,
    type: 'com.example.order.placed',
    source: 'https://shop.example/db/shop/streams/orders',
    subject,
    data,
    dataKind: 1,
    dataContentType: 'application/json',
    extensions: new Map(),
  });
}

export function encodeTransaction(
  events: readonly Uint8Array[],
  constraints: readonly Constraint[],
  stampedAtMs: number,
  transactionId: Uint8Array = randomBytes(16),
): Uint8Array {
  const rest = { origin: ORIGIN.GRPC_TRANSACTION, options: NO_OPTIONS };
  const bytes = encodeTransactPayload({ ...rest, transactionId, constraints, events });
  stampPayload(bytes, stampedAtMs);
  return bytes;
}

/** The transaction_id with this number, the same in each run. */
export function numberedId(number: number): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(12, number);
  return id;
}

export function createMachine(kv: KvStore, group: number): DatabaseMachine {
  const source = { kv, group: toGroupId(group), sha256 };
  const databaseId = toDatabaseId('0199a5c8-0000-7000-8000-000000000001');
  return DatabaseMachine.create(source, { databaseId, createdAtMs: CREATED_AT_MS, membership: NO_BYTES });
}

/** Opens a new store for the work, and deletes it afterwards. */
export async function withStore(work: (kv: KvStore) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-bench-'));
  const kv = await openLevelStore(directory);
  try {
    await work(kv);
  } finally {
    await kv.close();
    await rm(directory, { recursive: true });
  }
}

function sha256(parts: readonly Uint8Array[]): Uint8Array {
  return hash('sha256', parts.length === 1 ? (parts[0] ?? NO_BYTES) : Buffer.concat(parts), 'buffer');
}
