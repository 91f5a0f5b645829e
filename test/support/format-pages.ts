/** Reads the worked examples from the pages of docs/formats. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGES = join(import.meta.dirname, '../../docs/formats');

/** For each block under "Example" of the page, the hexadecimal digits at the start of its lines. */
export function examplesOf(page: string): readonly string[] {
  const blocks = readFileSync(join(PAGES, page), 'utf8').split('## Example')[1]?.split('```') ?? [];
  return blocks.filter((_, at) => at % 2 === 1).map(digitsOf);
}

/** The digits of the first block. */
export function exampleOf(page: string): string {
  return examplesOf(page)[0] ?? '';
}

function digitsOf(block: string): string {
  const digits = block.split('\n').map((line) => /^(?:[0-9a-f]{2} ?)*/.exec(line)?.[0] ?? '');
  return digits.join('').replaceAll(' ', '');
}
