// Goal: what the query builder finds wrong names the field of the page, and shows the value once in quotes.
import { expect, it } from 'vitest';
import { type BuiltQuery, builtQuery } from '../../../../src/transport/http/built-query.ts';
import { QueryParameters } from '../../../../src/transport/http/query-string.ts';

function built(...fields: readonly (readonly [string, string])[]): BuiltQuery {
  return builtQuery(new QueryParameters(new Map(fields)));
}

it.each<[string, string, object]>([
  ['start', '1\u0000', { value: '"1\\u0000"', found: '"1\\u0000"' }],
  ['limit', 'many', { value: '"many"', found: '"many"' }],
  ['join', 'xor', { value: 'xor', found: '"xor"' }],
])('shows what %s was, %j, in quotes', (field, value, shown) => {
  const query = built([field, value]);
  const violations = query.kind === 'malformed' ? query.faults.violations : [];
  expect(violations).toMatchObject([{ field, ...shown }]);
});
