// Converts answers to the form of the history. Events and transactions are decoded with the generated protobuf code,
// which shares nothing with the readers of the node.
import type { StoredEvent, TransactReply } from '#service';
import { Event } from '../../../proto/gen/cairn/v1/event.ts';
import { LoggedTransaction } from '../../../proto/gen/cairn/v1/transaction.ts';
import type { Calls, EventSeen, EventSketch, TransactionSeen } from '../history.ts';

const TRANSACTIONS_FIELD = 1;
const BODY_FIELD = 15;

export function eventSeen({ position, recordedTimeMs, bytes, storedId }: StoredEvent): EventSeen {
  const sketch = sketchOf(Event.decode(bytes));
  return { ...sketch, id: storedId ?? sketch.id, ...position, recordedTimeMs };
}

export function transactionSeen(record: Uint8Array): TransactionSeen {
  const { revision, chainHash, storedIds, totalEventCount, body } = LoggedTransaction.decode(record);
  if (body === undefined) throw new Error(`Revision ${revision} has no body`);
  return {
    revision,
    transactionId: uuidText(body.transactionId),
    recordedTimeMs: body.recordedTimeMs,
    totalEvents: totalEventCount,
    chainHash: chainHash.toString('hex'),
    storedIds: storedIds.map(({ index, id }) => [index, id]),
    events: body.events.map(sketchOf),
    body: messagesOf(record, BODY_FIELD)[0] ?? new Uint8Array(0),
  };
}

/** The transactions of a proto LogBatch. */
export function transactionsOf(batch: Uint8Array): readonly TransactionSeen[] {
  return messagesOf(batch, TRANSACTIONS_FIELD).map(transactionSeen);
}

/** The encoded messages of a field. */
export function messagesOf(message: Uint8Array, field: number): readonly Uint8Array[] {
  return [...fieldsOf(message)].flatMap((each) => (each.field === field ? [each.bytes] : []));
}

export function transactValue(reply: TransactReply): Calls['transact']['value'] {
  const { databaseId, revision } = reply;
  if (reply.kind === 'refused') {
    const violations = reply.violations.map(({ index, found }) => ({ index, found }));
    return { kind: 'refused', databaseId, revision, violations };
  }
  const { transactionId, basis, recordedTimeMs, replayed, events } = reply;
  const renamed = new Map(reply.storedIds.map(({ index, id }) => [index, id]));
  const storedIds = events.map((bytes, index) => renamed.get(index) ?? Event.decode(bytes).id);
  return { kind: 'recorded', databaseId, revision, transactionId, basis, recordedTimeMs, replayed, storedIds };
}

export function sketchOf({ id, ty, source, subject, time, data }: Event): EventSketch {
  const end = data.indexOf(0);
  const textEnd = end === -1 ? data.length : end;
  return {
    id,
    stream: source.slice(source.lastIndexOf('/') + 1),
    type: ty,
    subject,
    ...(time !== undefined && { timeMs: time.seconds * 1000 + time.nanos / 1_000_000 }),
    text: data.toString('utf8', 0, textEnd),
    zeros: data.length - textEnd,
  };
}

/** The encoded length-delimited fields of a message. */
function* fieldsOf(message: Uint8Array): Generator<{ readonly field: number; readonly bytes: Uint8Array }> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = message[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    if (tag % 8 === 0) varint();
    else if (tag % 8 === 2) {
      const length = varint();
      yield { field: tag >> 3, bytes: message.slice(at, at + length) };
      at += length;
    } else throw new Error(`Wire type ${tag % 8} is not expected here`);
  }
}

function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
