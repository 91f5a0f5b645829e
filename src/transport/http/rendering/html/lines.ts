/** Texts of many lines: as they are, or as a unified difference whose lines say whether they came or went. */
import { html, type Markup } from './markup.ts';

export function linesMarkup(text: string, kind: 'lines' | 'difference'): Markup {
  if (text === '') return html`<span class="absent">${kind === 'lines' ? 'empty' : 'nothing differs'}</span>`;
  if (kind === 'lines') return html`<pre class="json" tabindex="0">${text}</pre>`;
  return html`<pre class="difference" tabindex="0">${text.split('\n').map(lineMarkup)}</pre>`;
}

function lineMarkup(line: string): Markup {
  if (line.startsWith('+')) return html`<ins>${line}\n</ins>`;
  if (line.startsWith('-')) return html`<del>${line}\n</del>`;
  if (line.startsWith('@@')) return html`<span class="place">${line}\n</span>`;
  return html`<span>${line}\n</span>`;
}
