/**
 * Values in messages. Whatever somebody sent is shown on one line, as it was as far as that can be seen, and cut where
 * it is long: a message must not grow with what a client made up, nor do anything to the terminal that shows it.
 */

/** Characters of a value that are shown. */
const SHOWN_LENGTH_MAX = 64;

/**
 * What cannot be seen, or moves what can: controls, marks of direction, lone surrogates, unassigned and private
 * characters.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
const PLAIN = /^[\x20-\x7e]*$/;

/** In quotes, escaped as in JSON. */
export function quote(text: string, lengthMax: number = SHOWN_LENGTH_MAX): string {
  const quoted = JSON.stringify(cut(text, lengthMax));
  return PLAIN.test(quoted) ? quoted : escapeUnseen(quoted);
}

/** The same without quotes, for what has a place of its own in a message, such as the path of a field. */
export function escapeUnseen(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, escapeOf);
}

/** So many characters at most, and how many there were; never half of one. */
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
