/** A State View: who owns which account, and what is on it. */
import { defineStateView, type StateViewComponent } from '../../sdk/component/src/index.ts';
import type { AccountEvent } from './events.ts';

export interface Account {
  readonly account: string;
  readonly owner: string;
  cents: number;
}

/** By account. */
export type Balances = Record<string, Account>;

export const component: StateViewComponent<Balances, AccountEvent> = defineStateView<Balances, AccountEvent>({
  initialState: () => ({}),
  evolve(balances, event) {
    const account = event.subject;
    if (account === undefined) throw new Error(`The event ${event.id} has no account`);
    if (event.type === 'account.opened')
      return { ...balances, [account]: { account, owner: event.data.owner, cents: 0 } };
    const found = balances[account];
    if (found === undefined) throw new Error(`The account ${account} is used before it is opened`);
    found.cents += event.type === 'account.deposited' ? event.data.cents : -event.data.cents;
    return balances;
  },
  /** All accounts, or those of an owner. */
  render: (balances, { 'subject.owner': owner }) =>
    Object.values(balances)
      .filter((found) => owner === undefined || found.owner === owner)
      .map((found) => ({ ...found })),
});
