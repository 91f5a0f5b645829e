/** Reads a transaction, or the refusal of one, by its transaction id. */
import { type DatabaseError, formatUuid, parseUuid, toRevision } from '#base';
import { Faults, optionsOfBody, parseTransactionId } from '#model';
import { eventsOf, type KeptRefusal, refusalById, type StoredTransaction, transactionById } from '#query';
import type { ServiceContext } from './context.ts';
import { transactionNotFound } from './errors.ts';
import { scopeOf } from './instance.ts';
import type {
  FetchTransactionReply,
  FetchTransactionRequest,
  ReadScope,
  TransactionDescription,
} from './operations.ts';
import { openView } from './read-scope.ts';
import { causesOf, keptRefusalError } from './replies.ts';
import { basisOf } from './transact.ts';

/**
 * Returns the transaction that is recorded under an id, at the latest revision. If there is none, it fails with the
 * stored refusal (ADR 0142) that the latest attempt got, or with not_found.
 */
export async function fetchTransaction(
  context: ServiceContext,
  request: FetchTransactionRequest,
): Promise<FetchTransactionReply> {
  const faults = new Faults();
  const text = parseTransactionId(request.transactionId, 'transaction_id', faults);
  faults.throwIfAny('The transaction id is malformed');
  const id = parseUuid(text ?? '') ?? new Uint8Array(0);
  const view = await openView(context, request, 'latest');
  return context.reads.read(view.binding, async () => {
    const source = context.reads.source(view.binding);
    const stored = view.revision === 0 ? undefined : await transactionById(source, view.revision, id);
    if (stored === undefined) throw refusedOrNot(scopeOf(view), id, await refusalById(source, id));
    return { ...scopeOf(view), transaction: describe(id, stored), causes: await causesOf(source, stored) };
  });
}

function refusedOrNot(scope: ReadScope, id: Uint8Array, kept: KeptRefusal | undefined): DatabaseError {
  return kept === undefined ? transactionNotFound(scope, formatUuid(id)) : keptRefusalError(scope, kept);
}

function describe(id: Uint8Array, stored: StoredTransaction): TransactionDescription {
  const { bytes, view, chainHash, revision, recordedTimeMs } = stored;
  return {
    transactionId: formatUuid(id),
    revision: toRevision(revision),
    basis: basisOf(revision),
    recordedTimeMs,
    origin: view.body.origin,
    options: optionsOfBody(view.body),
    events: eventsOf(stored),
    chainHash,
    record: bytes,
  };
}
