/** A recorded transaction as JSON: the reply to its commit, and the one to a read by its id. */
import { toHex } from '#base';
import { ORIGIN_NAMES, type TransactionOptions } from '#model';
import {
  eventIdMappings,
  type FetchTransactionReply,
  type ProposedTransaction,
  type ReadScope,
  type RecordedTransaction,
  type StoredEvent,
} from '#service';
import { JsonElements } from './json-elements.ts';
import { type Json, timestamp } from './json-text.ts';
import { eventJson } from './paging.ts';
import { listBody, type ReplyBody } from './reply-body.ts';

type Members = Readonly<Record<string, Json>>;

interface Summary extends Pick<RecordedTransaction, 'transactionId' | 'revision' | 'basis' | 'recordedTimeMs'> {
  readonly events: readonly unknown[];
}

/** The revision-scoped family: the transaction record. */
export function transactionRecord(recorded: RecordedTransaction): Members {
  return { transaction: recordedSummary(recorded), event_id_mappings: mappingsOf(recorded) };
}

/** The result of a command; without a transaction when the State Change emitted no event. */
export function commandRecord(revision: number, recorded: RecordedTransaction | undefined): Members {
  return {
    transaction: recorded && recordedSummary(recorded),
    revision,
    event_id_mappings: recorded && mappingsOf(recorded),
  };
}

/** An accepted transaction, whose outcome is not known yet. */
export function acceptedTransaction({ databaseName, databaseId, transactionId }: ProposedTransaction): Members {
  return { transaction: { database: databaseName, database_id: databaseId, transaction_id: transactionId } };
}

/** The collection-style family. */
export function transactionReceipt(recorded: RecordedTransaction): Members {
  const { revision, events, transactionId, replayed } = recorded;
  const outcome = { revision, events_count: events.length, transaction_id: transactionId, replayed };
  return { ...outcome, event_id_mappings: mappingsOf(recorded) };
}

export function storedTransaction(
  { transaction: stored, ...scope }: FetchTransactionReply,
  shown: readonly StoredEvent[],
): ReplyBody {
  const mappings = mappingsOf({
    events: shown.map(({ bytes }) => bytes),
    storedIds: shown.flatMap(({ storedId: id, position: { index } }) => (id === undefined ? [] : [{ index, id }])),
  });
  const transaction = {
    ...summaryMembers(scope, stored),
    origin: ORIGIN_NAMES[stored.origin],
    ...optionMembers(stored.options),
    chain_hash: toHex(stored.chainHash),
  };
  return listBody('events', JsonElements.of(shown.map(eventJson)), {
    first: { transaction, event_id_mappings: mappings },
  });
}

function recordedSummary(recorded: RecordedTransaction): Members {
  return { ...summaryMembers(recorded, recorded), replayed: recorded.replayed };
}

function summaryMembers(scope: ReadScope, summary: Summary): Members {
  return {
    database: scope.databaseName,
    database_id: scope.databaseId,
    transaction_id: summary.transactionId,
    revision: summary.revision,
    basis: summary.basis,
    transaction_timestamp: timestamp(summary.recordedTimeMs),
    event_count: summary.events.length,
  };
}

function optionMembers(options: TransactionOptions): Members {
  const { lastReadRevision, principalAttributes, commitMessage, correlationId, causationId } = options;
  return {
    last_read_revision: lastReadRevision,
    principal_attributes: principalAttributes.size === 0 ? undefined : Object.fromEntries(principalAttributes),
    commit_message: commitMessage,
    correlation_id: correlationId,
    causation_id: causationId,
  };
}

/** Every event of the transaction, in order. */
function mappingsOf(transaction: Parameters<typeof eventIdMappings>[0]): Json {
  return eventIdMappings(transaction).map(({ clientEventId, storedEventId }) => {
    return { client_event_id: clientEventId, stored_event_id: storedEventId };
  });
}
