/**
 * What one flush will write, apart from heads: records, event ids, times and transaction ids. The writer has two of
 * them: one takes what is applied now, the other is on its way to the store; both are looked into until it has arrived.
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
