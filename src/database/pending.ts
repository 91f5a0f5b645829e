/**
 * The content of one flush, apart from heads: records, event ids, times and transaction ids. The writer has two of
 * them: one for entries that are applied now, and one that is being written; lookups search both.
 */
import { PendingIds } from './pending-ids.ts';
import { PendingRecords } from './pending-records.ts';
import { PendingTimes } from './pending-times.ts';
import { PendingTransactions } from './pending-transactions.ts';

export class Pending {
  readonly records: PendingRecords = new PendingRecords();
  readonly ids: PendingIds = new PendingIds();
  readonly times: PendingTimes = new PendingTimes();
  readonly transactions: PendingTransactions = new PendingTransactions();

  clear(): void {
    this.records.clear();
    this.ids.clear();
    this.times.clear();
    this.transactions.clear();
  }
}
