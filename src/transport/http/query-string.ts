/** Decodes query parameters strictly: a bad percent encoding or a repeated parameter is a fault. */
import type { AskedRevision } from '#base';
import { integerRule, numberAsWritten, parseRevisionText, revisionRule } from '#model';
import { invalidField } from './errors.ts';

export class QueryParameters {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** The query string with this parameter set to another value. */
  with(name: string, value: string): string {
    return new URLSearchParams([...new Map(this.#values).set(name, value)]).toString();
  }

  without(name: string): QueryParameters {
    return new QueryParameters(new Map([...this.#values].filter(([each]) => each !== name)));
  }

  /** The query string without empty parameters, which forms send; undefined when there are none. */
  filledIn(): string | undefined {
    const filled = [...this.#values].filter(([, value]) => value !== '');
    return filled.length === this.#values.size ? undefined : new URLSearchParams(filled).toString();
  }

  toText(): string {
    return new URLSearchParams([...this.#values]).toString();
  }

  names(): Iterable<string> {
    return this.#values.keys();
  }

  /** `true`, or by default `false`. */
  flag(name: string): boolean {
    const text = this.#values.get(name) ?? 'false';
    if (text === 'true' || text === 'false') return text === 'true';
    throw invalidField(name, 'must be true or false', text);
  }

  /** An integer from `min` to `max`, or undefined when the parameter is absent. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.#values.get(name);
    return text === undefined ? undefined : parseInteger(name, text, bounds);
  }
}

const DIGITS = /^(?:0|[1-9][0-9]{0,15})$/;

/** Parses a decimal integer without sign, leading zero or space. Throws the valid range. */
export function parseInteger(
  field: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = DIGITS.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw invalidField(field, integerRule(`${min} to ${max}`, text), numberAsWritten(text));
}

/** Parses a uint64. Throws the valid range. */
export function parseRevision(field: string, text: string): AskedRevision {
  const revision = parseRevisionText(text);
  if (revision === undefined) throw invalidField(field, revisionRule(text), numberAsWritten(text));
  return revision;
}

const NO_PARAMETERS: QueryParameters = new QueryParameters(new Map());

/** Parses the part of a URL after `?`. `+` is a space, as in forms and URLSearchParams. */
export function parseQueryString(text: string): QueryParameters {
  if (text === '') return NO_PARAMETERS;
  return new QueryParameters(parseFields(text, { place: 'query string', countMax: Number.POSITIVE_INFINITY }));
}

/** Parses form-encoded names and values; each name may occur once. `place`: part of the request, for faults. */
export function parseFields(
  text: string,
  { place, countMax }: { readonly place: string; readonly countMax: number },
): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    if (values.size === countMax) throw invalidField(place, `must have at most ${countMax} fields`);
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), place);
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1), place);
    if (values.has(name)) throw invalidField(name, 'must be given once', value);
    values.set(name, value);
  }
  return values;
}

function decode(text: string, place: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidField(place, 'must have percent encodings of UTF-8, such as %C3%A9', text);
  }
}

const BLANKS = ' \t';

/**
 * Removes spaces and tabs at both ends, as HTTP does for headers. A no-break space or byte order mark is part of the
 * value.
 */
export function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && BLANKS.includes(text.charAt(from))) from++;
  while (to > from && BLANKS.includes(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}
