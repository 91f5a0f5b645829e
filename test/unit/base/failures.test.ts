// Goal: the three kinds of failure are distinct and carry the data that their handlers need. Method: examples of each.
import { expect, it } from 'vitest';
import { assert, BrokenInvariant, DatabaseError } from '#base';

it('assert passes and narrows the type when the claim holds', () => {
  const found: number | undefined = [1, 2].at(0);
  assert(found !== undefined, 'There is a first number');
  expect(found.toFixed(1)).toBe('1.0');
});

it.each([
  [7, '7'],
  ['a"b', '"a\\"b"'],
  [10n, '10'],
  [null, 'null'],
  [{ at: 3n }, '{"at":"3"}'],
])('assert throws with the offending value %o when the claim does not hold', (value, text) => {
  expect(() => assert(false, 'A term never goes back', value)).toThrow(
    new BrokenInvariant(`A term never goes back; found ${text}`),
  );
});

it('assert reports only the claim when it gets no value', () => {
  expect(() => assert(false, 'A term never goes back')).toThrow(new BrokenInvariant('A term never goes back'));
});

it('DatabaseError (B2) carries code, message, details and cause', () => {
  const cause = new Error('disk');
  const details = { reason: 'RevisionNotFound', retryAfterMs: 10 };
  const message = 'Revision 9 is beyond 7';
  const error = new DatabaseError('not_found', message, { details, cause });
  expect(error).toMatchObject({ name: 'DatabaseError', code: 'not_found', message, details });
  expect(error.cause).toBe(cause);
});
