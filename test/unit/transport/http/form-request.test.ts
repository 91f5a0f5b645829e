// Goal: only spaces and tabs are removed around a header field of a form (TH15). Method: a table.
import { expect, it } from 'vitest';
import { saidBy } from '../../../../src/transport/http/form-request.ts';

const FORM = { fields: { 'x-commit-message': { becomes: 'header' } } } as const;

it.each([
  [' a \t', 'a'],
  [' \t ', ''],
  ['\uFEFFa', '\uFEFFa'],
  ['a\u00A0', 'a\u00A0'],
])('reads the header %j of a form as %j', (typed, header) => {
  const { headers } = saidBy(FORM, new Map([['x-commit-message', typed]]));
  expect(headers.get('x-commit-message')).toBe(header);
});
