// Goal: a quoted text is on one line, has a maximum length, and contains no characters that control a terminal. Method:
// tables, and a property over any text.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cut, quote } from '#base';

/** A quoted text, in which each quote is escaped as in JSON. */
const QUOTED = /^"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*"$/;

it.each([
  ['plain', 'a b', '"a b"'],
  ['quotes and backslashes', 'a"b\\c', '"a\\"b\\\\c"'],
  ['letters of any language', 'Grüße, 世界', '"Grüße, 世界"'],
  ['a character of two units', '🙂', '"🙂"'],
  ['controls', 'a\n\u0000\u001b[2J', '"a\\n\\u0000\\u001b[2J"'],
  ['controls of the second block', '\u007f\u0085\u009b', '"\\u007f\\u0085\\u009b"'],
  ['marks of direction', 'a\u202eb\u2066', '"a\\u202eb\\u2066"'],
  ['what has no width', 'a\u200bb\ufeff', '"a\\u200bb\\ufeff"'],
  ['ends of lines', '\u2028\u2029', '"\\u2028\\u2029"'],
  ['half a character', 'a\ud83d', '"a\\ud83d"'],
  ['the other half', '\ude42a', '"\\ude42a"'],
  ['a tag, of two units', '\u{e0041}', '"\\udb40\\udc41"'],
])('quote shows %s', (_what, text, shown) => {
  expect(quote(text)).toBe(shown);
});

it('quote shows the beginning of a long text, and its length', () => {
  expect(quote('x'.repeat(65))).toBe(`"${'x'.repeat(64)}… (65 characters)"`);
  expect(quote('x'.repeat(64))).toBe(`"${'x'.repeat(64)}"`);
  expect(cut(`${'x'.repeat(63)}🙂`, 64)).toBe(`${'x'.repeat(63)}… (65 characters)`);
});

it('quote shows any text on one line of printable characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), fc.string({ maxLength: 5 }), (odd, plain) => {
      const shown = quote(odd + plain + odd);
      expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(shown).toMatch(QUOTED);
      expect(shown.length).toBeLessThan(6 * 64 + 40);
    }),
  );
});
