// Checks that every mutant of the catalogues still finds its text in the sources, so that changed code is noticed.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { ALL_MUTANTS } from './mutants/all.ts';

const root = resolve(import.meta.dirname, '../..');
const edits = ALL_MUTANTS.flatMap(({ name, and, ...first }) =>
  [first, ...(and ?? [])].map((edit) => ({ name, ...edit })),
);

it.each(edits)('$name finds its text once in $file', ({ file, find, replace }) => {
  const parts = readFileSync(join(root, file), 'utf8').split(find);
  expect(parts).toHaveLength(2);
  expect(parts.join(replace)).not.toBe(parts.join(find));
});
