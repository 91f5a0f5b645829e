/**
 * Paths of git are bytes, those of the example text. A path of valid UTF-8 is that text. Any other is spelled as git
 * prints it (core.quotePath): in double quotes, each byte that is not printable ASCII as three octal digits behind a
 * backslash. So that no two paths are spelled alike, one that begins with a double quote is spelled like that, too.
 */
const QUOTE = '"';
const BACKSLASH = '\\';
const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  [QUOTE]: 34,
  [BACKSLASH]: 92,
};
const LETTERS = new Map(Object.entries(ESCAPES).map(([letter, byte]) => [byte, letter]));
const QUOTED = /^"(?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*"$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The spelling of a path. */
export function spellPath(bytes: Buffer): string {
  const text = textOf(bytes);
  if (text !== undefined && !text.startsWith(QUOTE)) return text;
  return `${QUOTE}${Array.from(bytes, spellByte).join('')}${QUOTE}`;
}

/** The bytes of a path that is spelled. */
export function pathBytes(spelled: string): Buffer {
  return unquote(spelled) ?? Buffer.from(spelled);
}

/** The bytes that something in git's quotes stands for; undefined when it is no such thing. */
export function unquote(text: string): Buffer | undefined {
  if (!QUOTED.test(text)) return undefined;
  const parts = text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs);
  return Buffer.concat(
    Array.from(parts, ([whole, octal, letter]) => {
      if (octal !== undefined) return Buffer.of(Number.parseInt(octal, 8));
      return letter === undefined ? Buffer.from(whole) : Buffer.of(ESCAPES[letter] ?? 0);
    }),
  );
}

function spellByte(byte: number): string {
  const letter = LETTERS.get(byte);
  if (letter !== undefined) return `${BACKSLASH}${letter}`;
  if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `${BACKSLASH}${byte.toString(8).padStart(3, '0')}`;
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
