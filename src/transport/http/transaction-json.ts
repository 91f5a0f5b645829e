/** A recorded transaction as JSON: the reply to its commit, and the one to a read by its id. */
import { toHex } from '#base';
import { ORIGIN_NAMES, type TransactionOptions } from '#model';
import {
  type EventIdMapping,
  eventIdMappings,
  type FetchTransactionReply,
  type ProposedTransaction,
  type ReadScope,
  type RecordedTransaction,
  type StoredEvent,
} from '#service';
import {
  type JsonText,
  jsonArray,
  jsonInteger,
  jsonObject,
  jsonString,
  jsonStringIfPresent,
  jsonTimestamp,
} from './json-text.ts';
import { eventJson } from './paging.ts';
import { listBody, type ReplyBody } from './reply-body.ts';

interface Summary extends Pick<RecordedTransaction, 'transactionId' | 'revision' | 'basis' | 'recordedTimeMs'> {
  readonly events: readonly unknown[];
}

/** The revision-scoped family: the transaction record. */
export function transactionRecord(recorded: RecordedTransaction): JsonText {
  return jsonObject({
    transaction: jsonObject({
      ...summaryMembers(recorded, recorded),
      replayed: String(recorded.replayed),
    }),
    event_id_mappings: mappingsJson(eventIdMappings(recorded)),
  });
}

/** The result of a command; without a transaction when the State Change emitted no event. */
export function commandRecord(revision: number, recorded: RecordedTransaction | undefined): JsonText {
  return jsonObject({
    transaction: recorded && jsonObject({ ...summaryMembers(recorded, recorded), replayed: String(recorded.replayed) }),
    revision: jsonInteger(revision),
    event_id_mappings: recorded && mappingsJson(eventIdMappings(recorded)),
  });
}

/** An accepted transaction, whose outcome is not known yet. */
export function acceptedTransaction({ databaseName, databaseId, transactionId }: ProposedTransaction): JsonText {
  return jsonObject({
    transaction: jsonObject({
      database: jsonString(databaseName),
      database_id: jsonString(databaseId),
      transaction_id: jsonString(transactionId),
    }),
  });
}

/** The collection-style family. */
export function transactionReceipt(recorded: RecordedTransaction): JsonText {
  return jsonObject({
    revision: jsonInteger(recorded.revision),
    events_count: jsonInteger(recorded.events.length),
    transaction_id: jsonString(recorded.transactionId),
    replayed: String(recorded.replayed),
    event_id_mappings: mappingsJson(eventIdMappings(recorded)),
  });
}

/** A stored transaction with its first events. */
export function storedTransaction(
  { transaction: stored, ...scope }: FetchTransactionReply,
  shown: readonly StoredEvent[],
): ReplyBody {
  const mappings = eventIdMappings({
    events: shown.map(({ bytes }) => bytes),
    storedIds: shown.flatMap(({ storedId: id, position: { index } }) => (id === undefined ? [] : [{ index, id }])),
  });
  const transaction = jsonObject({
    ...summaryMembers(scope, stored),
    origin: jsonString(ORIGIN_NAMES[stored.origin]),
    ...optionMembers(stored.options),
    chain_hash: jsonString(toHex(stored.chainHash)),
  });
  const first = { transaction, event_id_mappings: mappingsJson(mappings) };
  return listBody('events', shown.map(eventJson), { first });
}

function summaryMembers(scope: ReadScope, summary: Summary): Readonly<Record<string, JsonText>> {
  return {
    database: jsonString(scope.databaseName),
    database_id: jsonString(scope.databaseId),
    transaction_id: jsonString(summary.transactionId),
    revision: jsonInteger(summary.revision),
    basis: jsonInteger(summary.basis),
    transaction_timestamp: jsonTimestamp(summary.recordedTimeMs),
    event_count: jsonInteger(summary.events.length),
  };
}

function optionMembers(options: TransactionOptions): Readonly<Record<string, JsonText | undefined>> {
  const { lastReadRevision, principalAttributes, commitMessage, correlationId, causationId } = options;
  const attributes = [...principalAttributes].map(([name, value]) => `${jsonString(name)}:${jsonString(value)}`);
  return {
    last_read_revision: lastReadRevision === undefined ? undefined : jsonInteger(lastReadRevision),
    principal_attributes: attributes.length === 0 ? undefined : `{${attributes.join(',')}}`,
    commit_message: jsonStringIfPresent(commitMessage),
    correlation_id: jsonStringIfPresent(correlationId),
    causation_id: jsonStringIfPresent(causationId),
  };
}

/** Every event of the transaction, in order (decisions 2.8). */
function mappingsJson(mappings: readonly EventIdMapping[]): JsonText {
  return jsonArray(
    mappings.map(({ clientEventId, storedEventId }) =>
      jsonObject({ client_event_id: jsonString(clientEventId), stored_event_id: jsonString(storedEventId) }),
    ),
  );
}
