// Goal: an error suggests the known name that was probably meant, and none when no name is close. Method: a table.
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
])('for %j the suggestion is %j', (name, meant) => {
  expect(nearestName(name, KNOWN)).toBe(meant);
});

it('a suggestion is within the given distance', () => {
  expect(nearestName('x-min-revison', ['x-min-revision'], 1)).toBe('x-min-revision');
  expect(nearestName('x-revision', ['x-min-revision'], 2)).toBeUndefined();
});
