// Goal: whoever is refused, or whose call fails, finds the code in the documentation, and no other. Method: the tables
// of the page beside the lists of codes.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FAULT_CODES, REFUSAL_CODES } from '#wasm';

const PAGE = resolve(import.meta.dirname, '../../../../docs/components.md');

describe('docs/components.md', () => {
  it.each([
    ['Refusals', REFUSAL_CODES],
    ['Faults', FAULT_CODES],
  ])('lists the codes of %s, in their order', (title, codes) => {
    const [, section = ''] = readFileSync(PAGE, 'utf8').split(`\n## ${title}\n`);
    const [table = ''] = section.split('\n## ');
    expect([...table.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, code]) => code)).toEqual(codes);
  });
});
