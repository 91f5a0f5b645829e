/**
 * What becomes of a component that has no memory left, and what a long text takes.
 *
 * The engine inside a component takes about fifty times as much as a text for a moment when it writes it as JSON: 64
 * MiB for 700 KB. So long texts are written in pieces where the engine has no memory for the whole.
 */

/** What the engine throws is a text, and no Error. */
export function isOutOfMemory(error: unknown): boolean {
  return error === 'out of memory';
}

/** Said of a call that had all of the memory that there is. */
export const OUT_OF_MEMORY: string =
  'There is no memory left: what is given, what is made of it and what is answered have to fit into what a component ' +
  'may have, --guest-memory-bytes of its node';

/** What is told of what a component's code has thrown. */
export function saidOf(error: unknown): string {
  if (isOutOfMemory(error)) return OUT_OF_MEMORY;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** In UTF-16 units. */
const PIECE_LENGTH = 16_384;

type Stringify = (value: unknown, replacer?: unknown, space?: string | number) => string | undefined;

/** JSON as the engine has it. */
export interface EngineJson {
  stringify: Stringify;
  /** Absent in engines that cannot be told the JSON of a part. */
  readonly rawJSON?: (text: string) => unknown;
}

/** Gives the engine's JSON another `stringify`: to the same texts, where it can make them, and to more of them. */
export function mendJson(json: EngineJson): void {
  const { rawJSON } = json;
  const stringify = json.stringify.bind(json);
  if (rawJSON === undefined) return;
  const long = (text: string): unknown => rawJSON(longText(text, stringify));
  json.stringify = (value, replacer, space) => {
    try {
      return stringify(value, replacer, space);
    } catch (error) {
      // A list says which members there are; those that are long are found by a function alone.
      if (!isOutOfMemory(error) || Array.isArray(replacer)) throw error;
      return stringify(value, replacing(replacer, long), space);
    }
  };
}

/** What the author's replacer gives, with its long texts as the JSON that they are. */
function replacing(replacer: unknown, long: (text: string) => unknown) {
  return function replaced(this: unknown, key: string, value: unknown): unknown {
    const given: unknown = typeof replacer === 'function' ? Reflect.apply(replacer, this, [key, value]) : value;
    return typeof given === 'string' && given.length > PIECE_LENGTH ? long(given) : given;
  };
}

function longText(text: string, stringify: Stringify): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE_LENGTH;
    // Two halves of one letter stay together: alone each is written as an escape.
    const to = isPair(text.charCodeAt(end - 1), text.charCodeAt(end)) ? end + 1 : end;
    pieces.push(stringify(text.slice(at, to))?.slice(1, -1) ?? '');
    at = to;
  }
  return `"${pieces.join('')}"`;
}

function isPair(first: number, second: number): boolean {
  return first >= 0xd800 && first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
