/** The text of a revision that somebody asks for: one rule for paths, queries, headers and bodies. */
import { type Revision, toRevision } from '#base';

const UINT64_DIGITS = /^(?:0|[1-9]\d{0,19})$/;
const UINT64_MAX = 2n ** 64n - 1n;

/** What `parseRevisionText` takes, in words. */
export const REVISION_RULE = 'must be an integer from 0 to 2^64 - 1';

/**
 * A revision to ask for: any uint64, in decimal without sign or leading zero; undefined for any other text. From 2^53 on
 * it is taken for 2^53 - 1, which no database reaches either (decisions, 6.1).
 */
export function parseRevisionText(text: string): Revision | undefined {
  if (!UINT64_DIGITS.test(text) || BigInt(text) > UINT64_MAX) return undefined;
  return toRevision(Math.min(Number(text), Number.MAX_SAFE_INTEGER));
}
