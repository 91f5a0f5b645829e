// Goal: the example of a bank does what it says, and the kit gives events as a database does (G6, G12, G18). Method:
// scenarios of the test kit, over plain code; bank.long.test.ts runs them over what is built.
import { describe, expect, it } from 'vitest';
import { component as accounts } from '../../examples/bank/accounts.ts';
import { component as balances } from '../../examples/bank/balances.ts';
import { component as statement } from '../../examples/bank/statement.ts';
import { plainChange, plainPresenter, plainView } from '../../sdk/component/testing/plain.ts';
import { RealHost } from '../../sdk/component/testing/real.ts';
import { stored } from '../../sdk/component/testing/scenario.ts';
import { accountsDecide, balancesAddUp, statementIsWritten } from './bank-scenarios.ts';

describe('the balances', () => {
  balancesAddUp(() => plainView(balances));
});
describe('the accounts', () => {
  accountsDecide(() => plainChange(accounts));
});
describe('the statement', () => {
  statementIsWritten(() => plainPresenter(statement));
});

it('a real host says why a component is refused', async () => {
  await expect(RealHost.of(new Uint8Array(8), 'state-view')).rejects.toThrow('InvalidComponent');
});

it('each stored event has a revision of its own', () => {
  const events = stored({ source: 's', type: 't' }, { source: 's', type: 't' });
  expect(events.map(({ revision, id }) => [revision, id])).toEqual([
    [1, 'event-1'],
    [2, 'event-2'],
  ]);
});
