/**
 * A transaction: validated in the order of V2, then decided by the state machine of the group.
 *
 * The common path reads nothing: whether the transaction_id is recorded, and whether the constraints hold, is decided
 * when the entry is applied. Only a request that would be refused for its size or its faults first checks whether it
 * repeats a recorded one, because its body does not matter then (V3).
 */
import { assert, type DatabaseError, formatUuid, parseUuid, type Revision, toRevision, uuidv7Bytes } from '#base';
import type { Binding, TransactOutcome } from '#cluster';
import { asAsked, checkConstraints, parseTransactionId, transactionTooLarge } from '#model';
import { eventsOf, type StoredTransaction, transactionAt, transactionById } from '#query';
import type { ServiceContext } from './context.ts';
import { assertHeld, onInstance, type ReadView } from './instance.ts';
import type { RecordedTransaction, TransactReply, TransactRequest } from './operations.ts';
import { proposing } from './proposing.ts';
import { latestRevision, untilAtFloor } from './read-scope.ts';
import { constraintsTooBroad } from './replies.ts';
import { linkCreation } from './tracing.ts';

export function transact(context: ServiceContext, request: TransactRequest): Promise<TransactReply> {
  const { node } = context;
  const { databaseName, floor, span, options, constraints, events, requireLeader } = request;
  const transactionId = transactionIdOf(context, request);
  const refusal = refusalOf(request);
  return onInstance(node, databaseName, floor?.signal, (binding, bind) => {
    assertHeld(node, binding);
    if (floor === undefined) return propose(binding, bind);
    return untilAtFloor(context, request, binding).then(() => propose(binding, bind));
  });

  function propose(binding: Binding, bind: () => void): Promise<TransactReply> {
    if (refusal !== undefined) return recordedOrRefused(context, binding, request, { transactionId, refusal });
    assert(transactionId !== undefined, 'A malformed transaction_id is a fault of the transaction');
    // A client that waits only for the admission will look the outcome up.
    const keepsRefusal = request.onAdmitted !== undefined;
    const transaction = { transactionId, origin: request.origin, options, constraints, events, keepsRefusal };
    if (span !== undefined) linkCreation(span, events);
    const admission = { onAdmitted: admissionOf(binding, bind), requireLeader, span };
    return proposing(context, binding, { transaction, eventBytes: request.eventBytes, ...admission }, (outcome) =>
      replyOf(context, { binding, transactionId, request, outcome }),
    );
  }

  /** Callback for the node when the transaction is an entry of the log, if the caller wants it. */
  function admissionOf({ name, databaseId }: Binding, bind: () => void): (() => void) | undefined {
    const { onAdmitted } = request;
    if (onAdmitted === undefined || transactionId === undefined) return undefined;
    return () => {
      // A client that was notified of the admission knows the instance.
      bind();
      onAdmitted({ databaseName: name, databaseId, transactionId: formatUuid(transactionId) });
    };
  }
}

/**
 * The 16 bytes of the given id, or of a new one; undefined with a further fault when it is malformed. The nil UUID is a
 * fault too, but transactions that earlier builds have recorded under it are found.
 */
function transactionIdOf(context: ServiceContext, request: TransactRequest): Uint8Array | undefined {
  const text = request.transactionId;
  if (text === undefined) return uuidv7Bytes(context.clock.nowMs(), context.random);
  const bytes = parseUuid(text);
  if (bytes === undefined || isNil(bytes)) parseTransactionId(text, request.fields.transactionId, request.faults);
  return bytes;
}

function isNil(id: Uint8Array): boolean {
  return id.every((byte) => byte === 0);
}

/** The reason to refuse the transaction, independent of the database. */
function refusalOf(request: TransactRequest): DatabaseError | undefined {
  const { eventCount, eventBytes, faults, fields } = request;
  const tooLarge = transactionTooLarge(eventCount, eventBytes);
  if (tooLarge !== undefined) return tooLarge;
  if (eventCount === 0) faults.add(fields.events, 'must have at least one event');
  checkConstraints(request.constraints, fields.constraints, faults);
  return faults.none ? undefined : faults.toError('The transaction is malformed');
}

/** `transactionId`: undefined when it is malformed, so that nothing is recorded under it. */
async function recordedOrRefused(
  context: ServiceContext,
  binding: Binding,
  request: TransactRequest,
  { transactionId, refusal }: { readonly transactionId: Uint8Array | undefined; readonly refusal: DatabaseError },
): Promise<RecordedTransaction> {
  const recorded =
    transactionId === undefined
      ? undefined
      : await recordedUnder(context, { binding, revision: await latestRevision(context.node, binding) }, transactionId);
  const refusedAs = refusal.code === 'too_large' ? 'too_large' : 'invalid';
  context.meters.transaction(request.origin, recorded === undefined ? refusedAs : 'replayed');
  if (recorded !== undefined) return recorded;
  if (refusedAs === 'too_large') context.meters.tooLarge.add();
  throw refusal;
}

/** The result that is recorded under the id at the revision of the view. */
export function recordedUnder(
  context: ServiceContext,
  { binding, revision }: ReadView,
  transactionId: Uint8Array,
): RecordedTransaction | undefined | Promise<RecordedTransaction | undefined> {
  if (revision === 0) return undefined;
  return context.reads.read(binding, async () => {
    const stored = await transactionById(context.reads.source(binding), revision, transactionId);
    return stored === undefined ? undefined : recordedReply(binding, transactionId, stored);
  });
}

interface Decided {
  readonly binding: Binding;
  readonly transactionId: Uint8Array;
  readonly request: TransactRequest;
  readonly outcome: TransactOutcome;
}

function replyOf(context: ServiceContext, decided: Decided): TransactReply | Promise<TransactReply> {
  const { binding, transactionId, request, outcome } = decided;
  const scope = { databaseName: binding.name, databaseId: binding.databaseId, revision: outcome.revision };
  switch (outcome.kind) {
    case 'committed': {
      const { basis, recordedTimeMs, storedIds } = outcome;
      const recorded = { events: request.events, basis, recordedTimeMs, storedIds, replayed: false };
      return { kind: 'recorded', ...scope, transactionId: formatUuid(transactionId), ...recorded };
    }
    case 'replayed':
      return context.reads.read(binding, async () => {
        const stored = await transactionAt(context.reads.source(binding), outcome.revision);
        return recordedReply(binding, transactionId, stored);
      });
    case 'violated':
      return {
        kind: 'refused',
        ...scope,
        violations: outcome.violations.map((violation) => asAsked(violation, request.constraints[violation.index])),
        constraintsField: request.fields.constraints,
      };
    case 'too-broad':
      throw constraintsTooBroad({ ...outcome, count: outcome.constraints.length }, request.fields.constraints, {
        scope: { databaseId: scope.databaseId, revision: scope.revision },
      });
  }
}

export function recordedReply(
  binding: Binding,
  transactionId: Uint8Array,
  stored: StoredTransaction,
): RecordedTransaction {
  return {
    kind: 'recorded',
    databaseName: binding.name,
    databaseId: binding.databaseId,
    revision: toRevision(stored.revision),
    transactionId: formatUuid(transactionId),
    basis: basisOf(stored.revision),
    recordedTimeMs: stored.recordedTimeMs,
    events: eventsOf(stored).map((event) => event.bytes),
    storedIds: stored.view.storedIds,
    replayed: true,
  };
}

/** A committed transaction has a revision of 1 or more. */
export function basisOf(revision: number): Revision {
  return toRevision(revision - 1);
}
