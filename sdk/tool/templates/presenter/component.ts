/** A presenter: a list of objects as HTML, or as lines of text. */
import { definePresenter, type PresenterComponent } from 'cairn/component';

type Row = Readonly<Record<string, string | number | boolean | null>>;

export const component: PresenterComponent<readonly Row[]> = definePresenter<readonly Row[]>({
  async *present({ state, contentType }) {
    if (contentType === 'text/plain') {
      for (const row of state) yield `${Object.values(row).join('  ')}\n`;
      return;
    }
    yield '<!doctype html>\n<meta charset="utf-8">\n<ul>\n';
    for (const row of state) yield `<li>${escaped(Object.values(row).join(', '))}</li>\n`;
    yield '</ul>\n';
  },
});

/** Escapes text of a state, which is untrusted input. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
