/** A State Change: accounts are opened, and money is put on them and taken off. */
import {
  type Command,
  CommandRefused,
  type DecidedOver,
  type Decider,
  decider,
  defineStateChange,
  type NewEvent,
  type StateChangeComponent,
} from '../../sdk/component/src/index.ts';
import type { Account } from './balances.ts';
import { type AccountEvent, accountEvent, eventsOf } from './events.ts';

interface State {
  readonly isOpen: boolean;
  readonly cents: number;
}

type Wish =
  | { readonly kind: 'open'; readonly account: string; readonly owner: string }
  | { readonly kind: 'deposit' | 'withdraw'; readonly account: string; readonly cents: number };

const account: Decider<State, Wish, AccountEvent> = {
  initialState: () => ({ isOpen: false, cents: 0 }),
  evolve(state, event) {
    if (event.type === 'account.opened') return { ...state, isOpen: true };
    const { cents } = event.data;
    return { ...state, cents: state.cents + (event.type === 'account.deposited' ? cents : -cents) };
  },
  decide(state, wish): readonly NewEvent[] {
    if (wish.kind === 'open') {
      if (state.isOpen)
        throw new CommandRefused('validation-failed', `The account ${wish.account} is open`, { code: 'open' });
      return [accountEvent('account.opened', wish.account, { owner: wish.owner })];
    }
    if (!state.isOpen) throw new CommandRefused('state-not-found', `There is no account ${wish.account}`);
    if (wish.kind === 'deposit') return [accountEvent('account.deposited', wish.account, { cents: wish.cents })];
    if (wish.cents > state.cents) {
      const details = { balance: state.cents, asked: wish.cents };
      throw new CommandRefused('validation-failed', 'There is not enough on the account', {
        code: 'overdrawn',
        details,
      });
    }
    return [accountEvent('account.withdrawn', wish.account, { cents: wish.cents })];
  },
};

const EVENTS_MAX = 1000;

function over(given: (command: Command, account: string) => Wish): DecidedOver<Wish> {
  const accountOf = ({ parameters }: Command): string => parameters['account'] ?? '';
  return {
    events: (command) => eventsOf(accountOf(command)),
    limit: EVENTS_MAX,
    given: (command) => given(command, accountOf(command)),
  };
}

function centsOf(command: Command): number {
  const { cents } = command.json<{ readonly cents?: number }>();
  if (typeof cents === 'number' && Number.isSafeInteger(cents) && cents > 0) return cents;
  throw new CommandRefused('invalid-input', `cents is ${JSON.stringify(cents)}; give a whole number above 0`);
}

function ownerOf(command: Command): string {
  const { owner } = command.json<{ readonly owner?: string }>();
  if (typeof owner === 'string' && owner !== '') return owner;
  throw new CommandRefused('invalid-input', `owner is ${JSON.stringify(owner)}; give a name`);
}

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /accounts/{account}': decider(
      account,
      over((command, name) => ({ kind: 'open', account: name, owner: ownerOf(command) })),
    ),
    'POST /accounts/{account}/deposits': decider(
      account,
      over((command, name) => ({ kind: 'deposit', account: name, cents: centsOf(command) })),
    ),
    'POST /accounts/{account}/withdrawals': decider(
      account,
      over((command, name) => ({ kind: 'withdraw', account: name, cents: centsOf(command) })),
    ),
    /** Takes what the view says is there. */
    'DELETE /accounts/{account}': (command, reader) => {
      const name = command.parameters['account'] ?? '';
      const cents =
        reader.stateView<readonly Account[]>('balances')?.find(({ account: each }) => each === name)?.cents ?? 0;
      return cents === 0 ? [] : [accountEvent('account.withdrawn', name, { cents })];
    },
  },
});
