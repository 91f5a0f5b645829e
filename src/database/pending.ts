/**
 * What one flush will write, apart from heads: pages, event ids, times and transaction ids. The writer has two of them:
 * one takes what is applied now, the other is on its way to the store; both are looked into until it has arrived.
 */
import { PendingIds } from './pending-ids.ts';
import { PendingPages } from './pending-pages.ts';
import { PendingTimes } from './pending-times.ts';
import { PendingTransactions } from './pending-transactions.ts';

export class Pending {
  readonly pages: PendingPages = new PendingPages();
  readonly ids: PendingIds = new PendingIds();
  readonly times: PendingTimes = new PendingTimes();
  readonly transactions: PendingTransactions = new PendingTransactions();

  clear(): void {
    this.pages.clear();
    this.ids.clear();
    this.times.clear();
    this.transactions.clear();
  }
}
