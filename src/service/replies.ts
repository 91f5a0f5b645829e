/** What transports read from a transaction's reply: its id mappings, and the error that a refusal is. */
import { DatabaseError, decodeUtf8 } from '#base';
import { eventFacts } from '#model';
import type { StoredEvent } from '#query';
import type { RecordedTransaction, RefusedTransaction } from './operations.ts';

export interface EventIdMapping {
  readonly clientEventId: string;
  readonly storedEventId: string;
}

/** Every event of the transaction, in order. */
export function eventIdMappings(
  transaction: Pick<RecordedTransaction, 'events' | 'storedIds'>,
): readonly EventIdMapping[] {
  const stored = new Map(transaction.storedIds.map(({ index, id }) => [index, id]));
  return transaction.events.map((bytes, index) => {
    const clientEventId = writtenIdOf(bytes);
    return { clientEventId, storedEventId: stored.get(index) ?? clientEventId };
  });
}

/** Its events as reads give them. */
export function storedEvents({
  events,
  storedIds,
  revision,
  recordedTimeMs,
}: RecordedTransaction): readonly StoredEvent[] {
  const renamed = new Map(storedIds.map(({ index, id }) => [index, id]));
  return events.map((bytes, index) => {
    const storedId = renamed.get(index);
    const event = { position: { revision, index }, recordedTimeMs, bytes };
    return storedId === undefined ? event : { ...event, storedId };
  });
}

function writtenIdOf(bytes: Uint8Array): string {
  const { idStart, idEnd } = eventFacts(bytes, 0, bytes.length);
  return decodeUtf8(bytes, idStart, idEnd) ?? '';
}

/** The error for a transport that answers refusals as errors. */
export function refusalError(refused: RefusedTransaction): DatabaseError {
  const { violations, constraintsField, databaseId, revision } = refused;
  const [first] = violations;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  const what = first === undefined ? 'a constraint' : `${constraintsField}[${first.index}]: ${first.description}`;
  return new DatabaseError('constraint_violated', `The transaction was refused by ${what}${more}`, {
    details: { constraints: violations, constraintsField, scope: { databaseId, revision } },
  });
}
