/**
 * Derives from the reply of a transaction its id mappings and its causes, and from a refusal its error, whether
 * returned or looked up.
 */
import { type ConstraintViolation, DatabaseError, decodeUtf8, type ErrorDetails, formatUuid, parseUuid } from '#base';
import { eventFacts, Faults, optionsOfBody } from '#model';
import { type KeptRefusal, type StoredEvent, type StoredTransaction, transactionById } from '#query';
import type { Cause, ReadScope, RecordedTransaction, RefusedTransaction } from './operations.ts';

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

/** Its events in the form in which reads return them. */
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

/** The error of a refusal, for transports that report refusals as errors. */
export function refusalError(refused: RefusedTransaction): DatabaseError {
  const { violations, constraintsField, databaseId, revision } = refused;
  return constraintsViolated({ violations, count: violations.length }, constraintsField, {
    scope: { databaseId, revision },
  });
}

/** The error of a stored refusal: it has some of the violated constraints, and their number. */
export function keptRefusalError(scope: ReadScope, kept: KeptRefusal): DatabaseError {
  const { transactionId, recordedTimeMs, revision, cause, count } = kept;
  const details = {
    scope: { databaseId: scope.databaseId, revision: scope.revision },
    refused: { transactionId: formatUuid(transactionId), atMs: recordedTimeMs, revision },
  };
  // The name of the list in the request is not stored.
  if (cause.kind === 'violated') return constraintsViolated({ ...cause, count }, 'constraints', details);
  return constraintsTooBroad({ ...cause, count }, 'constraints', details);
}

function constraintsViolated(
  { violations, count }: { readonly violations: readonly ConstraintViolation[]; readonly count: number },
  constraintsField: string,
  details: ErrorDetails,
): DatabaseError {
  const [first] = violations;
  const more = count > 1 ? ` (and ${count - 1} more)` : '';
  const what = first === undefined ? 'a constraint' : `${constraintsField}[${first.index}]: ${first.description}`;
  return new DatabaseError('constraint_violated', `The transaction was refused by ${what}${more}`, {
    details: { ...details, constraints: violations, constraintsField },
  });
}

/** `count` is the number of undecided constraints; some of them are listed by index. */
export function constraintsTooBroad(
  { constraints, count }: { readonly constraints: readonly number[]; readonly count: number },
  constraintsField: string,
  details: ErrorDetails,
): DatabaseError {
  const faults = new Faults();
  for (const index of constraints) {
    faults.add(
      `${constraintsField}[${index}].selector`,
      'must have a longer prefix that fewer streams, types or subjects match, or an equality that few events meet',
    );
  }
  const [first] = faults.violations;
  const more = count > 1 ? ` (and ${count - 1} more)` : '';
  const message = `${first?.field}${more} cannot be decided within the limits of a transaction`;
  return new DatabaseError('too_large', message, {
    details: { ...details, reason: 'ConstraintTooBroad', violations: faults.violations },
  });
}

/** Maximum number of causes; each lookup reads three rows, and a transaction. */
const CAUSES_MAX = 8;

type Source = Parameters<typeof transactionById>[0];

/**
 * Follows the causes of a transaction from one `causation_id` to the next. A cause is committed before its effect, so
 * there are no cycles.
 */
export async function causesOf(source: Source, stored: StoredTransaction): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (let effect = stored; causes.length < CAUSES_MAX; ) {
    const id = parseUuid(optionsOfBody(effect.view.body).causationId ?? '');
    const cause = id === undefined ? undefined : await transactionById(source, effect.revision - 1, id);
    if (id === undefined || cause === undefined) break;
    causes.push({ transactionId: formatUuid(id) });
    effect = cause;
  }
  return causes;
}
