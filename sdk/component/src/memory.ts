/**
 * Handling of exhausted memory, and of long texts.
 *
 * The engine inside a component temporarily needs about fifty times the size of a text to write it as JSON: 64 MiB for
 * 700 KB. So long texts are written in pieces when the engine lacks memory for the whole.
 */

/** The engine throws a string, not an Error. */
export function isOutOfMemory(error: unknown): boolean {
  return error === 'out of memory';
}

/** Message of a call that had all available memory. */
export const OUT_OF_MEMORY: string =
  'There is no memory left: what is given, what is made of it and what is answered have to fit into what a component ' +
  'may have, --guest-memory-bytes of its node';

/** Message of an error that a component's code has thrown. */
export function saidOf(error: unknown): string {
  if (isOutOfMemory(error)) return OUT_OF_MEMORY;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Length in UTF-16 units. */
const PIECE_LENGTH = 16_384;

type Stringify = (value: unknown, replacer?: unknown, space?: string | number) => string | undefined;

/** The engine's JSON object. */
export interface EngineJson {
  stringify: Stringify;
  /** Absent in engines that cannot embed raw JSON. */
  readonly rawJSON?: (text: string) => unknown;
}

/** Replaces the engine's `stringify`: the results are the same, but it also handles long texts in little memory. */
export function mendJson(json: EngineJson): void {
  const { rawJSON } = json;
  const stringify = json.stringify.bind(json);
  if (rawJSON === undefined) return;
  const long = (text: string): unknown => rawJSON(longText(text, stringify));
  json.stringify = (value, replacer, space) => {
    try {
      return stringify(value, replacer, space);
    } catch (error) {
      // A list selects members; only a function can replace long texts.
      if (!isOutOfMemory(error) || Array.isArray(replacer)) throw error;
      return stringify(value, replacing(replacer, long), space);
    }
  };
}

/** The author's replacer, with its long texts replaced by raw JSON. */
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
    // Do not split a surrogate pair: each half would be escaped.
    const to = isPair(text.charCodeAt(end - 1), text.charCodeAt(end)) ? end + 1 : end;
    pieces.push(stringify(text.slice(at, to))?.slice(1, -1) ?? '');
    at = to;
  }
  return `"${pieces.join('')}"`;
}

function isPair(first: number, second: number): boolean {
  return first >= 0xd800 && first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
