/**
 * Chooses one of the offered content types by an `Accept` header (SPEC-HTTP-R10).
 *
 * The most specific range that matches an offer gives its quality, also when that is 0. The offer of the highest
 * quality wins; among equals the one with the more specific range, then the first.
 *
 * Unreadable parts of the header are ignored: clients have sent `*; q=.2` for decades, and their other ranges are
 * valid. An empty header accepts everything.
 *
 * Also reads the `Content-Type` of a request.
 */

/** A content type or a range, in lowercase except for the values of its parameters. */
interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
}

interface Weighed extends MediaRange {
  /** 0 to 1000. */
  readonly quality: number;
}

interface Fit {
  readonly quality: number;
  readonly specificity: number;
}

/** Index of the chosen offer; undefined when none is accepted. */
export function negotiate(accept: string | undefined, offers: readonly string[]): number | undefined {
  const ranges = rangesOf(accept ?? '');
  if (ranges === undefined) return offers.length > 0 ? 0 : undefined;
  let best: (Fit & { readonly index: number }) | undefined;
  for (const [index, offer] of offers.entries()) {
    const type = mediaRangeOf(offer);
    const fit = type === undefined ? undefined : fitOf(type, ranges);
    if (fit !== undefined && isBetter(fit, best)) best = { ...fit, index };
  }
  return best?.index;
}

function isBetter(fit: Fit, than: Fit | undefined): boolean {
  if (fit.quality === 0) return false;
  if (than === undefined || fit.quality !== than.quality) return fit.quality > (than?.quality ?? 0);
  return fit.specificity > than.specificity;
}

/** Quality of an offer by the most specific range that matches it. */
function fitOf(offer: MediaRange, ranges: readonly Weighed[]): Fit | undefined {
  let fit: Fit | undefined;
  for (const range of ranges) {
    if (!isIn(offer, range)) continue;
    const specificity = specificityOf(range);
    const isFirst = fit === undefined || specificity > fit.specificity;
    // The higher quality of two equally specific ranges counts.
    if (isFirst || (specificity === fit?.specificity && range.quality > fit.quality)) {
      fit = { quality: range.quality, specificity };
    }
  }
  return fit;
}

function isIn(offer: MediaRange, { type, subtype, parameters }: MediaRange): boolean {
  if (type !== ANY && type !== offer.type) return false;
  if (subtype !== ANY && subtype !== offer.subtype) return false;
  return [...parameters].every(([name, value]) => isSameValue(name, value, offer.parameters.get(name)));
}

/**
 * Names of character sets are case-insensitive (RFC 2046); other values are compared exactly. An offer without a
 * charset is UTF-8.
 */
function isSameValue(name: string, asked: string, offered: string | undefined): boolean {
  return name === 'charset' ? asked.toLowerCase() === (offered ?? 'utf-8').toLowerCase() : asked === offered;
}

const NAMED = 2;

/** `*`/`*`, `type/*`, `type/subtype`, and one more per parameter. */
function specificityOf({ type, subtype, parameters }: MediaRange): number {
  if (subtype !== ANY) return NAMED + parameters.size;
  return type === ANY ? 0 : 1;
}

const ANY = '*';
/** Parts between commas, and between semicolons, outside quotes. */
const LISTED = /(?:[^",]+|"(?:[^"\\]+|\\.)*"?)+/g;
const PARTED = /(?:[^";]+|"(?:[^"\\]+|\\.)*"?)+/g;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TYPE = new RegExp(`^(${TOKEN})/(${TOKEN})$`);
const PARAMETER = new RegExp(`^(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")$`);
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
const QUALITY_MAX = 1000;

/** The readable ranges; undefined when the header is empty. */
function rangesOf(accept: string): readonly Weighed[] | undefined {
  const parts = (accept.match(LISTED) ?? []).map((part) => part.trim()).filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  return parts.flatMap((part) => weighedOf(part) ?? []);
}

function weighedOf(text: string): Weighed | undefined {
  const range = mediaRangeOf(text);
  if (range === undefined) return undefined;
  const { type, subtype, parameters } = range;
  if (type === ANY && subtype !== ANY) return undefined;
  const said = parameters.get(WEIGHT);
  if (said === undefined) return { ...range, quality: QUALITY_MAX };
  if (!QUALITY.test(said)) return undefined;
  // Parameters after the weight were extensions of Accept, not of the content type.
  const own = [...parameters].slice(0, [...parameters.keys()].indexOf(WEIGHT));
  return { type, subtype, parameters: new Map(own), quality: Math.round(Number(said) * QUALITY_MAX) };
}

const WEIGHT = 'q';

function mediaRangeOf(text: string): MediaRange | undefined {
  const [essence = '', ...rest] = (text.match(PARTED) ?? []).map((part) => part.trim());
  const [, type, subtype] = TYPE.exec(essence) ?? [];
  if (type === undefined || subtype === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    if (part === '') continue;
    const [, name, token, quoted = ''] = PARAMETER.exec(part) ?? [];
    if (name === undefined) return undefined;
    const known = name.toLowerCase();
    if (!parameters.has(known)) parameters.set(known, token ?? quoted.replaceAll(/\\(.)/g, '$1'));
  }
  return { type: type.toLowerCase(), subtype: subtype.toLowerCase(), parameters };
}

/** A `Content-Type` in lowercase: its media type, and its parameters. */
export function contentTypeOf(text: string): { readonly essence: string; readonly parameters: readonly string[] } {
  const [essence = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { essence, parameters };
}

/** The rule that the charset breaks; undefined when it is valid or absent. */
export function charsetFault(contentType: string): string | undefined {
  const charsets = contentTypeOf(contentType).parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset=(?:utf-?8|"utf-?8")$/.test(charset));
  return isUtf8 ? undefined : 'must have the charset utf-8 or none';
}
