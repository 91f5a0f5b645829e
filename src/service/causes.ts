/** Follows the causes of a transaction from one `causation_id` to the next. */
import { formatUuid, parseUuid } from '#base';
import { optionsOfBody } from '#model';
import { type StoredTransaction, transactionById } from '#query';
import type { Cause } from './operations.ts';

/** Maximum number of causes; each lookup reads three rows, and a transaction. */
const CAUSES_MAX = 8;

type Source = Parameters<typeof transactionById>[0];

/** A cause is committed before its effect, so there are no cycles. */
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
