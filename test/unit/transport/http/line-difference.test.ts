// Goal: a difference of lines has the format of diff -u, and its work is bounded.
import { expect, it } from 'vitest';
import { unifiedDifference } from '../../../../src/transport/http/line-difference.ts';

it.each([
  ['a\nb', 'a\nb', ''],
  ['a', 'a\nb', '@@ -1,1 +1,2 @@\n a\n+b'],
  ['', 'a', '@@ -1,1 +1,1 @@\n-\n+a'],
  ['a\n', 'a', '@@ -1,2 +1,1 @@\n a\n-'],
  ['a b c d e f g h i j', 'a b c d E f g h i j', '@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h'],
])('the difference from %j to %j', (before, after, expected) => {
  const [one, other] = [before, after].map((text) => text.replaceAll(' ', '\n'));
  expect(unifiedDifference(one ?? '', other ?? '')).toBe(expected);
});

it('more than 250 added and removed lines replace the whole text', () => {
  const before = Array.from({ length: 300 }, (_, place) => `${place}`);
  const after = before.map((line, place) => (place < 126 ? `${line}!` : line));
  const all = ['@@ -1,300 +1,300 @@', ...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)];
  expect(unifiedDifference(before.join('\n'), after.join('\n'))).toBe(all.join('\n'));
  const fewer = unifiedDifference(before.join('\n'), [...after.slice(0, 125), ...before.slice(125)].join('\n'));
  expect(fewer).toMatch(/^@@ -1,128 \+1,128 @@\n/);
});
