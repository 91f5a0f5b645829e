/**
 * The names that a component may carry.
 *
 * Tools that generate code from a component write its names into a program. So a name has only letters, digits and the
 * marks that real components need: `ns:package/interface@1.0.0#function`, `[method]fold.apply`, `cm32p2|evolve`,
 * `$root`. None of these can end a string, a comment or a line in JavaScript, in any combination.
 *
 *   G1  Every name, core or component, is read by `BinaryReader.name`, and is safe from then on.
 */
import { quote } from '#base';
import { NAME_BYTES_MAX } from '../limits.ts';

/** Prefix of the meter's exports, reserved for them. */
export const RESERVED_PREFIX = 'cairn:fuel';

const SAFE = /^[A-Za-z0-9_.:/@#$|+[\]-]*$/;
const ALLOWED = 'A-Z a-z 0-9 _ . : / @ # $ | + [ ] -';
const UNSAFE_CHARACTER = /[^A-Za-z0-9_.:/@#$|+[\]-]/u;

/** Why the name is invalid, or undefined. The empty name is safe: linkers give it to tables of functions. */
export function nameFault(name: string, byteCount: number): string | undefined {
  if (byteCount > NAME_BYTES_MAX) {
    return `The name ${quote(name)} has ${byteCount} bytes; the limit is ${NAME_BYTES_MAX}`;
  }
  if (name.startsWith(RESERVED_PREFIX)) {
    return `The name ${quote(name)} begins with ${quote(RESERVED_PREFIX)}, which is kept for the host; choose another`;
  }
  if (SAFE.test(name)) return undefined;
  const [character = ''] = UNSAFE_CHARACTER.exec(name) ?? [];
  return `The name ${quote(name)} has the character ${quote(character)}; it may have ${ALLOWED} alone`;
}
