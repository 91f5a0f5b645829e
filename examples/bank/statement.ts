/** A presenter: the balances as CSV, a page at a time. */
import { definePresenter, type PresenterComponent, PresentFailed } from '../../sdk/component/src/index.ts';
import type { Account } from './balances.ts';

const ROWS_MAX = 100;

export const component: PresenterComponent<readonly Account[]> = definePresenter<readonly Account[]>({
  async *present(asked) {
    const { state, contentType, parameters } = asked;
    if (contentType !== 'text/csv') throw new PresentFailed('invalid-input', `${contentType} is not made here`);
    const from = Number(parameters['continuation'] ?? '0');
    if (!(Number.isSafeInteger(from) && from >= 0)) throw new PresentFailed('invalid-input', 'No such page');
    const rows = state.slice(from, from + ROWS_MAX);
    if (from + ROWS_MAX < state.length) asked.continueWith(String(from + ROWS_MAX));
    yield 'account,owner,cents\n';
    for (const { account, owner, cents } of rows) {
      if (!Number.isSafeInteger(cents)) throw new PresentFailed('internal-error', `${account} has ${cents} cents`);
      yield `${quoted(account)},${quoted(owner)},${cents}\n`;
    }
  },
});

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
