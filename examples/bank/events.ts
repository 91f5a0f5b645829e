/** Accounts of a bank, each the subject of its events in the stream `accounts`. */
import type { NewEvent, Selector, StoredEvent } from '../../sdk/component/src/index.ts';

export type Opened = StoredEvent<'account.opened', { readonly owner: string }>;
export type Deposited = StoredEvent<'account.deposited', { readonly cents: number }>;
export type Withdrawn = StoredEvent<'account.withdrawn', { readonly cents: number }>;
export type AccountEvent = Opened | Deposited | Withdrawn;

export function accountEvent(type: 'account.opened', account: string, data: Opened['data']): NewEvent;
export function accountEvent(
  type: 'account.deposited' | 'account.withdrawn',
  account: string,
  data: Deposited['data'],
): NewEvent;
export function accountEvent(type: AccountEvent['type'], account: string, data: AccountEvent['data']): NewEvent {
  return { source: 'accounts', type, subject: account, data };
}

export function eventsOf(account: string): Selector {
  return { stream: 'accounts', subject: account };
}
