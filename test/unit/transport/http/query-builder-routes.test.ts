// Goal: faults of the query builder name the field and quote the value, and only spaces and tabs around numbers are
// ignored. Method: a table of fields.
import { expect, it } from 'vitest';
import { builtQuery } from '../../../../src/transport/http/query-builder-routes.ts';
import { QueryParameters } from '../../../../src/transport/http/query-string.ts';

function built(...fields: readonly (readonly [string, string])[]): ReturnType<typeof builtQuery> {
  return builtQuery(new QueryParameters(new Map(fields)));
}

it.each<[string, string, object]>([
  ['start', '1\u0000', { value: '"1\\u0000"', found: '"1\\u0000"' }],
  ['limit', 'many', { value: '"many"', found: '"many"' }],
  ['start', '\uFEFF1', { value: '"\\ufeff1"' }],
  ['end', '2\u00A0', { value: '"2\u00A0"' }],
  ['until', '2024-01-01T00:00:00Z\uFEFF', {}],
  ['direction', '\uFEFFREVERSE', { value: '\uFEFFREVERSE' }],
  ['join', 'xor', { value: 'xor', found: '"xor"' }],
])('shows the value of %s, %j, in quotes', (field, value, shown) => {
  const query = built([field, value]);
  const violations = query.kind === 'malformed' ? query.faults.violations : [];
  expect(violations).toMatchObject([{ field, ...shown }]);
});

function queryIn(...fields: readonly (readonly [string, string])[]): unknown {
  const query = built(...fields);
  if (query.kind === 'malformed') throw query.error;
  return JSON.parse(Buffer.from(query.q, 'base64url').toString());
}

it('accepts a number with spaces and tabs around it, and treats only spaces and tabs as an absent number', () => {
  const wanted = { range: { revision: { startAt: '1' } }, direction: 'FORWARD' };
  expect(queryIn(['start', ' 1\t'], ['limit', '\t '])).toEqual(wanted);
});

it.each([' a ', '\uFEFFa', 'a\u00A0'])('searches for %j as it was typed', (value) => {
  expect(queryIn(['attribute1', 'eventType'], ['operator1', 'equals'], ['value1', value])).toMatchObject({
    selector: { equals: { eventType: value } },
  });
});
