/**
 * Reads the log of a database over gRPC as bytes and verifies its chain of hashes. It shares no code with the server:
 * it parses the messages and computes the hashes itself.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, credentials, status } from '@grpc/grpc-js';

export interface LoggedTransaction {
  readonly revision: number;
  readonly chainHash: Buffer;
  readonly transactionId: string;
  /** Stored events, as encoded messages. */
  readonly events: readonly Buffer[];
  readonly body: Buffer;
}

const SCAN = '/cairn.v1.EventStore/ScanLogBatches';
const FOUND_BYTES_MAX = 64 << 20;
/** A node that was killed often rebuilds the rows of its databases after its start. */
const REBUILD_MS_MAX = 60_000;
const RETRY_MS = 50;

/** The transactions from `startRevision` to the latest. Asks again while the database is unavailable. */
export async function readLog(address: string, database: string, startRevision: number): Promise<LoggedTransaction[]> {
  const endMs = performance.now() + REBUILD_MS_MAX;
  for (;;) {
    try {
      return await readOnce(address, database, startRevision);
    } catch (failure) {
      const isUnavailable = failure instanceof Error && 'code' in failure && failure.code === status.UNAVAILABLE;
      if (!isUnavailable || performance.now() > endMs) throw failure;
    }
    await delay(RETRY_MS);
  }
}

async function readOnce(address: string, database: string, startRevision: number): Promise<LoggedTransaction[]> {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': FOUND_BYTES_MAX,
  });
  const request = Buffer.concat([
    lengthDelimited(1, Buffer.from(database)),
    Buffer.from([2 << 3]),
    varint(startRevision),
  ]);
  const same = (bytes: Buffer): Buffer => bytes;
  const stream: AsyncIterable<Buffer> = client.makeServerStreamRequest(SCAN, same, same, request);
  const transactions: LoggedTransaction[] = [];
  try {
    for await (const batch of stream) {
      for (const field of fields(batch)) {
        const transaction = parseTransaction(field.bytes);
        if (transaction.revision >= startRevision) transactions.push(transaction);
      }
    }
  } finally {
    client.close();
  }
  return transactions;
}

/** H(0), the initial hash of a database. */
export function firstHash(databaseId: string): Buffer {
  return createHash('sha256')
    .update(Buffer.from(databaseId.replaceAll('-', ''), 'hex'))
    .digest();
}

/** Returns the first fault in the chain after `previous`, or undefined. */
export function brokenLink(
  previous: { readonly revision: number; readonly hash: Buffer },
  log: readonly LoggedTransaction[],
): string | undefined {
  let { revision, hash } = previous;
  for (const transaction of log) {
    revision += 1;
    if (transaction.revision !== revision)
      return `revision ${revision} is missing; ${transaction.revision} is there instead`;
    hash = createHash('sha256').update(hash).update(transaction.body).digest();
    if (!hash.equals(transaction.chainHash))
      return `the chain hash of revision ${revision} does not follow from the one before`;
  }
  return undefined;
}

/** Text of the field `number` of an encoded message; the last one wins. */
export function textField(message: Buffer, number: number): string | undefined {
  let text: string | undefined;
  for (const field of fields(message)) if (field.number === number) text = field.bytes.toString('utf8');
  return text;
}

function parseTransaction(message: Buffer): LoggedTransaction {
  let revision = 0;
  let chainHash: Buffer = Buffer.alloc(0);
  let body: Buffer = Buffer.alloc(0);
  for (const field of fields(message)) {
    if (field.number === 1) revision = field.value;
    if (field.number === 2) chainHash = field.bytes;
    if (field.number === 15) body = field.bytes;
  }
  const events: Buffer[] = [];
  let transactionId = '';
  for (const field of fields(body)) {
    if (field.number === 2) transactionId = formatUuid(field.bytes);
    if (field.number === 15) events.push(field.bytes);
  }
  return { revision, chainHash, transactionId, events, body };
}

interface WireField {
  readonly number: number;
  /** Value of a varint field. */
  readonly value: number;
  /** Bytes of a length-delimited or fixed field. */
  readonly bytes: Buffer;
}

function* fields(message: Buffer): Generator<WireField> {
  let at = 0;
  const readVarint = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = message.readUInt8(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  while (at < message.length) {
    const tag = readVarint();
    const number = Math.floor(tag / 8);
    if (tag % 8 === 0) yield { number, value: readVarint(), bytes: Buffer.alloc(0) };
    else {
      const length = tag % 8 === 2 ? readVarint() : 8;
      yield { number, value: 0, bytes: message.subarray(at, at + length) };
      at += length;
    }
  }
}

function formatUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function lengthDelimited(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([number * 8 + 2]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
