/**
 * Quotes values in messages. A value is shown on one line, with invisible characters escaped, and cut where it is long:
 * a message must not grow with what a client sends, nor affect the terminal that shows it.
 */

/** Maximum number of characters shown of a value. */
const SHOWN_LENGTH_MAX = 64;

/**
 * Characters that are invisible or move others: controls, direction marks, lone surrogates, unassigned and private
 * characters.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
const PLAIN = /^[\x20-\x7e]*$/;

/** In quotes, escaped as in JSON. */
export function quote(text: string, lengthMax: number = SHOWN_LENGTH_MAX): string {
  const quoted = JSON.stringify(cut(text, lengthMax));
  return PLAIN.test(quoted) ? quoted : escapeUnseen(quoted);
}

/** The same without quotes, for values with a fixed position in a message, such as the path of a field. */
export function escapeUnseen(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, escapeOf);
}

/** The first characters, and the number of all; never splits a surrogate pair. */
export function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const end = isLeading(text.charCodeAt(lengthMax - 1)) ? lengthMax - 1 : lengthMax;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

function escapeOf(character: string): string {
  let escaped = '';
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}

function isLeading(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
