// Goal: a line difference is minimal, and `patch` can apply it. Method: random texts, an implementation of `patch`, and
// a naive algorithm.
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDifference } from '../../../../src/transport/http/line-difference.ts';

/** Applies a difference like `patch`: lines outside of hunks stay, and removed lines must be present. */
function applied(before: string, difference: string): string {
  if (difference === '') return before;
  const lines = before.split('\n');
  const made: string[] = [];
  let read = 0;
  for (const each of difference.split('\n')) {
    const [, start, count] = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(each) ?? [];
    if (start !== undefined) {
      const from = count === '0' ? Number(start) : Number(start) - 1;
      made.push(...lines.slice(read, from));
      read = from;
      continue;
    }
    const [kind, line] = [each.charAt(0), each.slice(1)];
    if (kind !== '+' && lines[read++] !== line) throw new Error(`line ${read} is not ${line}`);
    if (kind !== '-') made.push(line);
  }
  return [...made, ...lines.slice(read)].join('\n');
}

function changed(difference: string): readonly string[] {
  return difference.split('\n').filter((line) => /^[-+]/.test(line));
}

describe('a difference of lines', () => {
  it('converts one text to the other', () => {
    const text = array(constantFrom('a', 'b', 'c', ''), { maxLength: 40 }).map((lines) => lines.join('\n'));
    assert(
      property(text, text, (before, after) => {
        expect(applied(before, unifiedDifference(before, after))).toBe(after);
      }),
    );
  });

  it('has as few lines as possible', () => {
    const lines = array(constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 });
    assert(
      property(lines, lines, (before, after) => {
        const found = changed(unifiedDifference(before.join('\n'), after.join('\n')));
        expect(found).toHaveLength(before.length + after.length - 2 * commonLength(before, after));
      }),
    );
  });

  it('has the format of diff -u, and is empty for equal texts', () => {
    expect(unifiedDifference('a\nb', 'a\nb')).toBe('');
    const before = 'a b c d e f g h i j'.split(' ').join('\n');
    const after = before.replace('e', 'E');
    expect(unifiedDifference(before, after)).toBe('@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h');
    expect(unifiedDifference('a', 'a\nb')).toBe('@@ -1,1 +1,2 @@\n a\n+b');
  });

  it.each([
    ['differ in more lines than are compared', 600, (place: number) => place % 2 === 1],
    ['are longer than is compared', 9_000, (place: number) => place === 10 || place === 8_990],
  ])('replaces all lines from the first to the last difference when texts %s', (_why, lineCount, isChanged) => {
    const before = Array.from({ length: lineCount }, (_, place) => `${place}`);
    const after = before.map((line, place) => (isChanged(place) ? `${line}!` : line));
    const difference = unifiedDifference(before.join('\n'), after.join('\n'));
    expect(applied(before.join('\n'), difference)).toBe(after.join('\n'));
    const gone = changed(difference).filter((line) => line.startsWith('-'));
    const first = after.findIndex((line, place) => line !== before[place]);
    const last = after.findLastIndex((line, place) => line !== before[place]);
    expect(gone).toEqual(before.slice(first, last + 1).map((line) => `-${line}`));
  });
});

function commonLength(before: readonly string[], after: readonly string[]): number {
  let row = Array.from({ length: after.length + 1 }, () => 0);
  for (const line of before) {
    const next = [0];
    for (const [place, other] of after.entries()) {
      next.push(line === other ? (row[place] ?? 0) + 1 : Math.max(row[place + 1] ?? 0, next[place] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
