// A header that a form has is the header that a client would have sent (TH15): blanks at its ends are none of it, and
// whatever else looks like a blank is judged with it.
import { expect, it } from 'vitest';
import { saidBy } from '../../../../src/transport/http/form-request.ts';

const FORM = { fields: { 'x-commit-message': { becomes: 'header' } } } as const;

it.each([
  [' a \t', 'a'],
  [' \t ', ''],
  ['\uFEFFa', '\uFEFFa'],
  ['a\u00A0', 'a\u00A0'],
])('takes the header %j of a form as %j', (typed, header) => {
  const { headers } = saidBy(FORM, new Map([['x-commit-message', typed]]));
  expect(headers.get('x-commit-message')).toBe(header);
});
