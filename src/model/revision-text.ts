/** Integers as text, such as revisions: one rule for paths, queries, headers, bodies and settings. */
import { type AskedRevision, toRevision } from '#base';

const UINT64_DIGITS = /^(?:0|[1-9]\d{0,19})$/;
const UINT64_MAX = 2n ** 64n - 1n;

/** Rule of `parseRevisionText`, for an invalid text. */
export function revisionRule(text: string): string {
  return integerRule('0 to 2^64 - 1', text);
}

/** Rule of an integer in the range, for an invalid text. */
export function integerRule(range: string, text: string): string {
  return `must be an integer from ${range}${leadingZeroRule(text)}`;
}

/** End of the rule for a number: explains a leading zero; empty for any other text. */
export function leadingZeroRule(text: string): string {
  return /^0\d+$/.test(text) ? ', without a leading zero' : '';
}

/** Any uint64, in decimal without sign or leading zero; undefined for any other text. */
export function parseRevisionText(text: string): AskedRevision | undefined {
  if (!UINT64_DIGITS.test(text)) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return toRevision(value);
  const exact = BigInt(text);
  return exact > UINT64_MAX ? undefined : exact;
}
