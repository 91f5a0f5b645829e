/** The platform's own decoder and parser, as an oracle of ours. */
import { JSON_DEPTH_MAX } from '../../src/model/limits.ts';

/** Returns whether the bytes are well-formed UTF-8 and JSON of at most JSON_DEPTH_MAX levels. */
export function isPlatformJson(bytes: Uint8Array): boolean {
  try {
    return levelsOf(JSON.parse(utf8TextOf(bytes))) <= JSON_DEPTH_MAX;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return false;
    throw error;
  }
}

/** @throws TypeError for bytes that are not well-formed UTF-8 */
export function utf8TextOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, each) => Math.max(most, levelsOf(each)), 0);
}
