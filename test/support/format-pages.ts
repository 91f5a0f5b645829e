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

/** The bytes of a file as the page lists them by their offsets, with zeros in between, and how many it lists. */
export function listedIn(page: string, size: number): { readonly bytes: Uint8Array; readonly count: number } {
  const bytes = new Uint8Array(size);
  const lines = readFileSync(join(PAGES, page), 'utf8').matchAll(
    /^([0-9a-f]{4}) {2}((?:[0-9a-f]{2} ?)+)(?:× (\d+))?/gm,
  );
  let count = 0;
  for (const [, offset = '', digits = '', times = '1'] of lines) {
    const run = Buffer.from(digits.replaceAll(' ', '').repeat(Number(times)), 'hex');
    bytes.set(run, Number.parseInt(offset, 16));
    count += run.length;
  }
  return { bytes, count };
}

/** Rows of 16 bytes, for messages. */
export function hexRows(bytes: Uint8Array): readonly string[] {
  return Array.from({ length: bytes.length / 16 }, (_, row) => {
    const at = 16 * row;
    return `${at.toString(16).padStart(4, '0')}  ${Buffer.from(bytes.subarray(at, at + 16)).toString('hex')}`;
  });
}

function digitsOf(block: string): string {
  const digits = block.split('\n').map((line) => /^(?:[0-9a-f]{2} ?)*/.exec(line)?.[0] ?? '');
  return digits.join('').replaceAll(' ', '');
}
