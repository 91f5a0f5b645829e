/** The text of a revision that somebody asks for: one rule for paths, queries, headers and bodies. */
import { type AskedRevision, toRevision } from '#base';

const UINT64_DIGITS = /^(?:0|[1-9]\d{0,19})$/;
const UINT64_MAX = 2n ** 64n - 1n;

/** What `parseRevisionText` takes, in words for a text that it does not take. */
export function revisionRule(text: string): string {
  const rule = 'must be an integer from 0 to 2^64 - 1';
  return /^0\d+$/.test(text) ? `${rule}, without a leading zero` : rule;
}

/** Any uint64, in decimal without sign or leading zero; undefined for any other text. */
export function parseRevisionText(text: string): AskedRevision | undefined {
  if (!UINT64_DIGITS.test(text)) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return toRevision(value);
  const exact = BigInt(text);
  return exact > UINT64_MAX ? undefined : exact;
}
