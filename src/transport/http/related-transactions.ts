/**
 * Which later transactions belong to one: those that name it as their cause, and those of its correlation id. Neither
 * is an index of a database; they are looked for in the log behind it, as far as a page may look.
 */
import { ProtoReader } from '#base';
import { type LoggedTransactionView, optionsOfBody, readLoggedTransaction, transactionIdOfBody } from '#model';
import type { FetchTransactionReply } from '#service';
import { PAGE_BYTES_MAX, RELATED_MAX, RELATED_TRANSACTIONS_MAX } from './limits.ts';
import type { Related } from './rendering/event-pages.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

/** In the order of their revisions. */
export async function relatedTransactions(
  request: HttpRequest,
  { service }: RouteContext,
  { transaction, revision: latest }: FetchTransactionReply,
): Promise<readonly Related[]> {
  if (transaction.revision >= latest) return [];
  const { batches } = await service.scanLogBatches({
    ...request.read(),
    startRevision: transaction.revision,
    direction: 'forward',
    limit: RELATED_TRANSACTIONS_MAX + 1,
  });
  const related: Related[] = [];
  let byteCount = 0;
  for await (const slice of batches) {
    for (const bytes of slice) {
      byteCount += bytes.length;
      const found = await request.inTurn(() => transactionsIn(bytes).flatMap((each) => relationOf(each, transaction)));
      related.push(...found.slice(0, RELATED_MAX - related.length));
    }
    if (related.length === RELATED_MAX || byteCount > PAGE_BYTES_MAX) break;
  }
  return related;
}

const TRANSACTION_TAG = 0x0a;

/** Of a proto LogBatch. */
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

/** None: it has nothing to do with it. */
function relationOf(
  { revision, body }: LoggedTransactionView,
  to: FetchTransactionReply['transaction'],
): readonly Related[] {
  if (revision === to.revision) return [];
  const { causationId, correlationId } = optionsOfBody(body);
  const isCaused = causationId?.toLowerCase() === to.transactionId;
  const isCorrelated = correlationId !== undefined && correlationId === to.options.correlationId;
  if (!isCaused && !isCorrelated) return [];
  return [{ transactionId: transactionIdOfBody(body), revision, how: isCaused ? 'caused' : 'correlated' }];
}
