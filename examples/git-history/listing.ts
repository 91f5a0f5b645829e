/**
 * A presenter: the files of the view `files` as a page for people, or as CSV for programs, by what the client accepts.
 *
 * Commits may name files in any way. No name becomes markup, an attribute, another cell, or a
 * formula of a spreadsheet.
 */
import { definePresenter, type PresenterComponent, PresentFailed } from '../../sdk/component/src/index.ts';
import type { ListedFile } from './files.ts';
import { csvOf } from './listing-csv.ts';
import { htmlOf } from './listing-html.ts';

const ROWS_PER_PAGE = 100;

export const component: PresenterComponent<readonly ListedFile[]> = definePresenter<readonly ListedFile[]>({
  *present(asked) {
    const { contentType, parameters, state } = asked;
    const { prefix = '', continuation = '0' } = parameters;
    const files = state.filter(({ path }) => path.startsWith(prefix));
    const [type = ''] = contentType.split(';');
    if (type === 'text/csv') yield* csvOf(files);
    else if (type === 'text/html') {
      const from = rowOf(continuation, files.length);
      const end = Math.min(from + ROWS_PER_PAGE, files.length);
      // Where the next page begins; the host links to it in the head, as the page itself does.
      const next = end < files.length ? String(end) : undefined;
      if (next !== undefined) asked.continueWith(next);
      yield* htmlOf(files.slice(from, end), asked, { total: files.length, from, next });
    } else throw new PresentFailed('invalid-input', `${contentType} is not made here`);
  },
});

function rowOf(continuation: string, rows: number): number {
  const row = /^\d{1,9}$/.test(continuation) ? Number(continuation) : undefined;
  if (row !== undefined && (row === 0 || row < rows)) return row;
  throw new PresentFailed('invalid-input', `There is no page that begins with row ${continuation} of ${rows}`);
}
