/**
 * Which names a component may carry.
 *
 * The transpiler writes the names of imports and exports into JavaScript, and does not escape them: whoever chooses the
 * name writes a part of that program. So a name is made of letters, digits and the marks that real components need:
 * `ns:package/interface@1.0.0#function`, `[method]fold.apply`, `cm32p2|evolve`, `$root`. None of them can end a string,
 * a comment or a line in JavaScript, however they are put together.
 *
 *   G1  Every name, core or component, is read by `BinaryReader.name`, and is a safe one from then on.
 */
import { quote } from '#base';
import { NAME_BYTES_MAX } from '../limits.ts';

/** What the meter exports begins with this, and nothing else does. */
export const RESERVED_PREFIX = 'cairn:fuel';

const SAFE = /^[A-Za-z0-9_.:/@#$|+[\]-]*$/;
const ALLOWED = 'A-Z a-z 0-9 _ . : / @ # $ | + [ ] -';
const UNSAFE_CHARACTER = /[^A-Za-z0-9_.:/@#$|+[\]-]/u;

/** What is wrong with the name, or undefined. The empty name is safe: linkers give it to tables of functions. */
export function nameFault(name: string, byteCount: number): string | undefined {
  if (byteCount > NAME_BYTES_MAX) {
    return `The name ${quote(name)} has ${byteCount} bytes; ${NAME_BYTES_MAX} is the most`;
  }
  if (name.startsWith(RESERVED_PREFIX)) {
    return `The name ${quote(name)} begins with ${quote(RESERVED_PREFIX)}, which is kept for the host; choose another`;
  }
  if (SAFE.test(name)) return undefined;
  const [character = ''] = UNSAFE_CHARACTER.exec(name) ?? [];
  return `The name ${quote(name)} has the character ${quote(character)}; it may have ${ALLOWED} alone`;
}
