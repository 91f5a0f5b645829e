/** The table of decisions in docs/adr/README.md, from the title and the status line of each record. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RECORD = /^\d{4}-[a-z0-9-]+\.md$/;

/** One row for each record in the folder, in the order of their numbers. */
export function adrIndex(folder: string): string {
  const names = readdirSync(folder)
    .filter((name) => RECORD.test(name))
    .toSorted();
  const rows = names.map((name) => adrRow(name, readFileSync(join(folder, name), 'utf8')));
  return ['| No. | decision | status |', '|---|---|---|', ...rows].join('\n');
}

/** Throws when the record does not begin with "# NNNN. Title" or has no "Status:" line. */
export function adrRow(name: string, text: string): string {
  const number = name.slice(0, 4);
  const title = new RegExp(`^# ${number}\\. (.+)`).exec(text)?.[1];
  const status = /^Status: (.+)$/m.exec(text)?.[1];
  if (title === undefined) throw new Error(`${name} must begin with "# ${number}. Title"`);
  if (status === undefined) throw new Error(`${name} needs a line "Status: accepted", proposed, or superseded by NNNN`);
  return `| ${number} | [${title}](${name}) | ${status} |`;
}
