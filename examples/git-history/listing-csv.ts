/**
 * Files as CSV (RFC 4180), a row at a time.
 *
 * A path stands there as `./path`: the same file to every program, and to none the beginning of a formula, as `=…`,
 * `+…`, `-…` and `@…` are to spreadsheets. Paths that git quotes begin with a quote and stay as they are.
 */
import type { ListedFile } from './files.ts';

export function* csvOf(files: readonly ListedFile[]): Generator<string> {
  yield row(['path', 'mode', 'blob', 'commit', 'authored', 'revision']);
  for (const { path, mode, blob, commit, authored, revision } of files) {
    yield row([path.startsWith('"') ? path : `./${path}`, mode, blob, commit, authored, String(revision)]);
  }
}

function row(cells: readonly string[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
