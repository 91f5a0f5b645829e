/**
 * Files as a page of HTML, a row at a time, with a link to the next page.
 *
 * All text that comes from elsewhere goes through `escaped`: in an attribute, too, for which it takes the quotes away.
 * Were there a gap all the same, the policy of the page lets nothing run.
 */
import type { Presentation } from '../../sdk/component/src/index.ts';
import type { ListedFile } from './files.ts';

export interface Page {
  readonly total: number;
  /** The first row, from 0. */
  readonly from: number;
  /** The token of the next page. */
  readonly next: string | undefined;
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'";
const STYLE = 'table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left}td{font-family:monospace}';

export function* htmlOf(
  files: readonly ListedFile[],
  asked: Presentation<readonly ListedFile[]>,
  { total, from, next }: Page,
): Generator<string> {
  const title = `${escaped(asked.database)} at revision ${asked.revision}`;
  yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n';
  yield `<meta http-equiv="Content-Security-Policy" content="${escaped(POLICY)}">\n`;
  yield `<title>${title}</title><style>${STYLE}</style></head>\n<body><h1>${title}</h1>\n`;
  const { prefix = '' } = asked.parameters;
  const below = prefix === '' ? '' : ` below <code>${escaped(prefix)}</code>`;
  const shown = files.length === 0 ? '' : `, ${from + 1} to ${from + files.length}`;
  yield `<p>${total} ${total === 1 ? 'file' : 'files'}${below}${shown}</p>\n`;
  yield '<table>\n<tr><th>path</th><th>mode</th><th>changed by</th><th>written</th><th>revision</th></tr>\n';
  for (const file of files) yield row(file);
  yield '</table>\n';
  if (next !== undefined) yield `<p><a rel="next" href="${escaped(linkTo(asked, next))}">next page</a></p>\n`;
  yield '</body></html>\n';
}

function row({ path, mode, blob, commit, authored, revision }: ListedFile): string {
  const cells = [
    `<td title="${escaped(blob)}">${escaped(path)}</td>`,
    `<td>${escaped(mode)}</td>`,
    `<td title="${escaped(commit)}">${escaped(commit.slice(0, 12))}</td>`,
    `<td>${escaped(authored)}</td>`,
    `<td>${revision}</td>`,
  ];
  return `<tr>${cells.join('')}</tr>\n`;
}

/** The same view at the same revision, so that pages are pages of one list while the history grows. */
function linkTo(asked: Presentation<unknown>, continuation: string): string {
  const { database, revision, view, version, parameters } = asked;
  const path = `/api/v1/db/${encodeURIComponent(database)}/${revision}/state-views/${encodeURIComponent(view)}/v${version}`;
  const query = Object.entries({ ...parameters, continuation });
  return `${path}?${query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Ranges of characters that are invisible, or reverse the direction of writing; both ends inclusive. */
const UNSEEN: readonly (readonly [from: number, to: number])[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x61c, 0x61c],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe007f],
];

/**
 * Text, as a part of a page. What nobody sees stands there by its number: a name that reads `exe.gpj` and ends in
 * `.exe` should not. A regular expression knows no \p{Cf} here, for the engine of a component has no tables of Unicode.
 */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? '')
    .replaceAll(/[^ -~]/gu, (found) => {
      const point = found.codePointAt(0) ?? 0;
      return UNSEEN.some(([from, to]) => point >= from && point <= to) ? `\\u{${point.toString(16)}}` : found;
    });
}
