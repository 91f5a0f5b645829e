// The log over gRPC proves the history; the reference model compares what each read gives.
import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { ProtoReader, parseUuid } from '#base';
import type { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { LogBatch } from '../../proto/gen/cairn/v1/transaction.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { RawGrpc } from '../support/raw-grpc.ts';
import { sharedServer } from '../support/shared-servers.ts';

const server = await sharedServer();
let name: string;
let databaseId: string;

beforeAll(async () => {
  name = uniqueName();
  const { database } = await server.client.send('createDatabase', { databaseName: name });
  databaseId = database?.databaseId ?? '';
  for (const ids of [['1.0'], ['2.0', '2.1'], ['3.0']]) {
    await server.client.send(
      'transact',
      transaction(
        name,
        ids.map((id) => event({ id })),
      ),
    );
  }
});

it('SPEC-GRPC-SCAN-DATABASE-LOG is refused for a direction that does not exist', async () => {
  const scan = { databaseName: name, startRevision: 0, direction: 7 as Direction, limit: 0 };
  const failure = await failureOf(server.client.collect('scanDatabaseLog', scan));
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['direction'] });
});

it('SPEC-GRPC-SCAN-LOG-BATCHES lets a client prove the history by the chain of hashes', async () => {
  const raw = new RawGrpc(server.port);
  const request = Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]);
  const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]);
  const { body, status } = await raw.call({ path: '/cairn.v1.EventStore/ScanLogBatches', pieces: [framed] });
  await raw.close();
  expect(status).toBe(0);
  let hash = sha256(Buffer.from(parseUuid(databaseId) ?? []));
  for (const message of messagesOf(body)) {
    const bodies = bodiesOf(message);
    for (const [at, { chainHash }] of LogBatch.decode(message).transactions.entries()) {
      hash = sha256(hash, bodies[at] ?? Buffer.alloc(0));
      expect(Buffer.from(chainHash)).toEqual(hash);
    }
  }
  const { database } = await server.client.send('fetchLatestDatabase', { databaseName: name });
  expect(database?.chainHash).toEqual(hash);
});

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function messagesOf(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    messages.push(body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1)));
  }
  return messages;
}

/** The bytes of field 15 of every LoggedTransaction, as they came. */
function bodiesOf(logBatch: Uint8Array): readonly Uint8Array[] {
  const bodies: Uint8Array[] = [];
  const batch = new ProtoReader(logBatch);
  while (!batch.done) {
    batch.tag();
    const transactionStart = batch.lengthDelimited();
    const logged = new ProtoReader(logBatch, transactionStart, batch.at);
    while (!logged.done) {
      const tag = logged.tag();
      const start = logged.at;
      logged.skipField(tag);
      if (tag !== 0x7a) continue;
      const inner = new ProtoReader(logBatch, start, logged.at);
      const bodyStart = inner.lengthDelimited();
      bodies.push(logBatch.subarray(bodyStart, inner.at));
    }
  }
  return bodies;
}
