/**
 * Finds transactions related to one: later ones that name it as their cause, and those with its correlation id. Neither
 * is indexed: the log before and after it is searched within the bounds of a page.
 */

import { ProtoReader, toRevision } from '#base';
import { type LoggedTransactionView, optionsOfBody, readLoggedTransaction, transactionIdOfBody } from '#model';
import type { Cause, ReadScope } from '#service';
import type { Related } from '#ui';
import { PAGE_BYTES_MAX, RELATED_MAX, RELATED_TRANSACTIONS_MAX } from './limits.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

/** The transaction of `revision`, as seen in `scope`: later transactions are not searched. */
export interface Seen {
  readonly scope: ReadScope;
  readonly revision: number;
  readonly transactionId: string;
  readonly correlationId: string | undefined;
  readonly causes: readonly Cause[];
}

/** Related transactions by revision, without causes. Only for pages: JSON has only stored data. */
export async function relatedTransactions(
  request: HttpRequest,
  context: RouteContext,
  seen: Seen,
): Promise<readonly Related[]> {
  if (request.rendering() === undefined) return [];
  // An effect has a later revision than its cause.
  const before = seen.correlationId === undefined ? [] : await search(request, context, seen, 'reverse');
  const behind = seen.revision >= seen.scope.revision ? [] : await search(request, context, seen, 'forward');
  return [...before.toReversed(), ...behind];
}

async function search(
  request: HttpRequest,
  { service }: RouteContext,
  seen: Seen,
  direction: 'forward' | 'reverse',
): Promise<readonly Related[]> {
  const { databaseId, batches } = await service.scanLogBatches({
    ...request.read(),
    at: seen.scope.revision,
    startRevision: toRevision(seen.revision),
    direction,
    limit: RELATED_TRANSACTIONS_MAX + 1,
  });
  // The database was re-created meanwhile.
  if (databaseId !== seen.scope.databaseId) return [];
  const related: Related[] = [];
  let byteCount = 0;
  for await (const slice of batches) {
    for (const bytes of slice) {
      byteCount += bytes.length;
      const found = await request.inTurn(() => transactionsIn(bytes).flatMap((each) => relationOf(each, seen)));
      related.push(...found.slice(0, RELATED_MAX - related.length));
    }
    if (related.length === RELATED_MAX || byteCount > PAGE_BYTES_MAX) break;
  }
  return related;
}

const TRANSACTION_TAG = 0x0a;

/** Transactions in a proto LogBatch. */
function transactionsIn(bytes: Uint8Array): readonly LoggedTransactionView[] {
  const reader = new ProtoReader(bytes, 0, bytes.length);
  const found: LoggedTransactionView[] = [];
  while (!reader.done) {
    if (reader.tag() !== TRANSACTION_TAG) reader.fail();
    const start = reader.lengthDelimited();
    found.push(readLoggedTransaction(bytes, start, reader.at));
  }
  return found;
}

/** None when the transaction is unrelated or is one of the causes. */
function relationOf({ revision, body }: LoggedTransactionView, seen: Seen): readonly Related[] {
  if (revision === seen.revision || seen.causes.some((cause) => cause.revision === revision)) return [];
  const { causationId, correlationId } = optionsOfBody(body);
  const isCaused = revision > seen.revision && causationId?.toLowerCase() === seen.transactionId;
  const isCorrelated = correlationId !== undefined && correlationId === seen.correlationId;
  if (!isCaused && !isCorrelated) return [];
  return [{ transactionId: transactionIdOfBody(body), revision, how: isCaused ? 'caused' : 'correlated' }];
}
