// Goal: an error names what was probably meant, and nothing far-fetched. Method: a table.
import { expect, it } from 'vitest';
import { nearestName } from '#base';

const KNOWN = ['limit', 'direction', 'after', 'type', 'subject'];

it.each([
  ['lmit', 'limit'],
  ['Limit', 'limit'],
  ['directoin', 'direction'],
  ['eventType', 'type'],
  ['event_type', 'type'],
  ['subjects', 'subject'],
  ['limits', 'limit'],
  ['cursor', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('%j stands for %j', (name, meant) => {
  expect(nearestName(name, KNOWN)).toBe(meant);
});

it('is no further away than it may be', () => {
  expect(nearestName('x-min-revison', ['x-min-revision'], 1)).toBe('x-min-revision');
  expect(nearestName('x-revision', ['x-min-revision'], 2)).toBeUndefined();
});
