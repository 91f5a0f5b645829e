import { formatUuid, parseUuid, toRevision } from '#base';
import { Faults, optionsOfBody, parseTransactionId } from '#model';
import { eventsOf, type StoredTransaction, transactionById } from '#query';
import { causesOf } from './causes.ts';
import type { ServiceContext } from './context.ts';
import { transactionNotFound } from './errors.ts';
import { scopeOf } from './instance.ts';
import type { FetchTransactionReply, FetchTransactionRequest, TransactionDescription } from './operations.ts';
import { openView } from './read-scope.ts';
import { basisOf } from './transact.ts';

/** The transaction that was recorded under an id, as of the latest revision; not_found when there is none. */
export async function fetchTransaction(
  context: ServiceContext,
  request: FetchTransactionRequest,
): Promise<FetchTransactionReply> {
  const faults = new Faults();
  const text = parseTransactionId(request.transactionId, 'transaction_id', faults);
  faults.throwIfAny('The transaction id is malformed');
  const id = parseUuid(text ?? '') ?? new Uint8Array(0);
  const view = await openView(context, request, 'latest');
  return context.reads.read(view.binding, () => {
    const source = context.reads.source(view.binding);
    const stored = view.revision === 0 ? undefined : transactionById(source, view.revision, id);
    if (stored === undefined) throw transactionNotFound(scopeOf(view), formatUuid(id));
    return { ...scopeOf(view), transaction: describe(id, stored), causes: causesOf(source, stored) };
  });
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
