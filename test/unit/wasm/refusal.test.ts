// Goal: whoever is refused finds the code in the documentation, and no other. Method: the first table of the page
// beside the list of codes.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REFUSAL_CODES } from '#wasm';

const PAGE = resolve(import.meta.dirname, '../../../docs/components.md');

describe('docs/components.md', () => {
  it('lists the codes of refusals, in their order', () => {
    const codes = [...readFileSync(PAGE, 'utf8').matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, code]) => code);
    expect(codes).toEqual(REFUSAL_CODES);
  });
});
