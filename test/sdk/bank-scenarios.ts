/** What the example of a bank does, whichever host runs it: plain code, or the component that is built of it. */
import { it } from 'vitest';
import { accountEvent } from '../../examples/bank/events.ts';
import type { NewEvent } from '../../sdk/component/src/index.ts';
import type { ChangeHost, PresenterHost, ViewHost } from '../../sdk/component/testing/hosts.ts';
import { change, presenter, view } from '../../sdk/component/testing/scenario.ts';

const OPENED: readonly NewEvent[] = [
  accountEvent('account.opened', 'a', { owner: 'Ada' }),
  accountEvent('account.opened', 'b', { owner: 'Bruno, "B"' }),
  accountEvent('account.deposited', 'a', { cents: 500 }),
];
export function balancesAddUp(views: () => ViewHost): void {
  const host = (): ReturnType<typeof view> => view(views());

  it('are none in front of the first event', async () => {
    await host().given().thenState([]);
  });

  it('add up, and are read by owner', async () => {
    const given = host().given(...OPENED, accountEvent('account.withdrawn', 'a', { cents: 150 }));
    const ada = { account: 'a', owner: 'Ada', cents: 350 };
    await given.thenState([ada, { account: 'b', owner: 'Bruno, "B"', cents: 0 }]);
    await given.thenState([ada], { 'subject.owner': 'Ada' });
  });

  it('say which event makes no sense', async () => {
    await host()
      .given(...OPENED, accountEvent('account.deposited', 'c', { cents: 1 }))
      .thenFails(/^Error: The account c is used before it is opened$/);
  });

  it('are the same bytes for text of every kind', async () => {
    const owner = 'Łódź 🏦 \u0000 \u2028 "x"';
    await host()
      .given(accountEvent('account.opened', 'ä', { owner }))
      .thenState([{ account: 'ä', owner, cents: 0 }]);
  });
}

export function accountsDecide(changes: () => ChangeHost): void {
  const host = (): ReturnType<typeof change> => change(changes());
  const withdrawal = { method: 'POST', path: '/accounts/a/withdrawals' };

  it('are opened and used', async () => {
    const opened = accountEvent('account.opened', 'c d', { owner: 'Cleo' });
    await host().given({}).when({ method: 'POST', path: '/accounts/c%20d' }, { owner: 'Cleo' }).thenEmits([opened]);
    const withdrawn = accountEvent('account.withdrawn', 'a', { cents: 500 });
    await host().given({ events: OPENED }).when(withdrawal, { cents: 500 }).thenEmits([withdrawn]);
  });

  it('are not overdrawn', async () => {
    await host()
      .given({ events: OPENED })
      .when(withdrawal, { cents: 501 })
      .thenRefuses('validation-failed', { code: 'overdrawn', details: { balance: 500, asked: 501 } });
  });

  it('refuse what they do not know', async () => {
    const given = host().given({ events: OPENED });
    await given.when({ method: 'POST', path: '/accounts/c/deposits' }, { cents: 1 }).thenRefuses('state-not-found');
    await given
      .when({ method: 'PATCH', path: '/accounts/a' })
      .thenRefuses('unknown-command', { message: /no PATCH \/accounts\/a; there is .*POST \/accounts\/\{account\}/ });
    await given.when(withdrawal, { cents: 1.5 }).thenRefuses('invalid-input', { message: /cents is 1\.5/ });
    await given.when(withdrawal).thenRefuses('invalid-input', { message: /no body/ });
  });

  it('read a State View', async () => {
    const rows = ['a', 'b'].map((account, at) => ({ account, owner: 'Ada', cents: 70 * at }));
    const views = { balances: rows };
    const withdrawn = accountEvent('account.withdrawn', 'b', { cents: 70 });
    await host().given({ views }).when({ method: 'DELETE', path: '/accounts/b' }).thenEmits([withdrawn]);
    await host().given({ views }).when({ method: 'DELETE', path: '/accounts/a' }).thenEmits([]);
  });

  it('are refused when what they read is not there', async () => {
    await host()
      .given({})
      .when({ method: 'DELETE', path: '/accounts/a' })
      .thenRefuses('state-not-found', { message: /no State View balances/, code: 'not-found' });
  });
}

export function statementIsWritten(presenters: () => PresenterHost): void {
  const host = (): ReturnType<typeof presenter> => presenter(presenters());
  const row = { account: 'a', owner: 'Bruno, "B"', cents: 5 };

  it('is written', async () => {
    await host().given([row]).when({ contentType: 'text/csv' }).thenWrites('account,owner,cents\na,"Bruno, ""B""",5\n');
  });

  it('has lines of any length', async () => {
    const owner = 'x'.repeat(600_000);
    const rows = [{ account: 'a', owner, cents: 5 }];
    await host().given(rows).when({ contentType: 'text/csv' }).thenWrites(`account,owner,cents\na,${owner},5\n`);
  });

  it('has pages', async () => {
    const rows = Array.from({ length: 150 }, (_, cents) => ({ account: 'a', owner: 'x', cents }));
    const lines = rows.map(({ cents }) => `a,x,${cents}\n`);
    const head = 'account,owner,cents\n';
    const given = host().given(rows);
    await given.when({ contentType: 'text/csv' }).thenWrites(head + lines.slice(0, 100).join(''), '100');
    await given
      .when({ contentType: 'text/csv', parameters: { continuation: '100' } })
      .thenWrites(head + lines.slice(100).join(''));
  });

  it('fails by its own word, and by what is thrown', async () => {
    await host()
      .given([])
      .when({ contentType: 'text/html' })
      .thenFails('invalid-input', /text\/html/);
    await host()
      .given({})
      .when({ contentType: 'text/csv' })
      .thenFails('internal-error', /TypeError/);
  });
}
