// Goal: replies that are encoded by hand are messages of the proto files. Method: the generated decoder reads them.
import { expect, it } from 'vitest';
import { toDatabaseId, toRevision } from '#base';
import type { RecordedTransaction } from '#service';
import { TransactReply } from '../../../../proto/gen/cairn/v1/transaction.ts';
import { encodeTransactReply } from '../../../../src/transport/grpc/transact-reply.ts';
import { FRAME_HEADER_BYTES } from '../../../../src/transport/grpc/wire/framing.ts';
import { eventBytes } from '../../../support/events.ts';

const LONG_ID = 'x'.repeat(255);

function recorded(parts: Partial<RecordedTransaction>): RecordedTransaction {
  return {
    kind: 'recorded',
    databaseName: 'shop',
    databaseId: toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000'),
    revision: toRevision(300),
    basis: toRevision(299),
    transactionId: '0193a1b2-c3d4-7e5f-8a9b-200000000000',
    recordedTimeMs: 1_763_600_000_123,
    events: [],
    storedIds: [],
    replayed: false,
    ...parts,
  };
}

function decoded(transaction: RecordedTransaction): TransactReply {
  const framed = encodeTransactReply(transaction);
  expect(Buffer.from(framed).readUInt32BE(1)).toBe(framed.length - FRAME_HEADER_BYTES);
  return TransactReply.decode(framed.subarray(FRAME_HEADER_BYTES));
}

it('encodeTransactReply has the record and the mapping of every event', () => {
  const events = ['a', LONG_ID, 'c', 'ü'].map((id) => eventBytes({ id }));
  const storedIds = [
    { index: 1, id: `${LONG_ID}~300.1` },
    { index: 3, id: 'ü~300.3' },
  ];
  expect(decoded(recorded({ events, storedIds, replayed: true }))).toEqual({
    revision: 300,
    transactionId: '0193a1b2-c3d4-7e5f-8a9b-200000000000',
    recordedTime: { seconds: 1_763_600_000, nanos: 123_000_000 },
    eventCount: 4,
    eventIdMappings: [
      { clientEventId: 'a', storedEventId: 'a' },
      { clientEventId: LONG_ID, storedEventId: `${LONG_ID}~300.1` },
      { clientEventId: 'c', storedEventId: 'c' },
      { clientEventId: 'ü', storedEventId: 'ü~300.3' },
    ],
    replayed: true,
    databaseId: '0193a1b2-c3d4-7e5f-8a9b-100000000000',
    basis: 299,
  });
});
