/**
 * Which of the offered content types answers an `Accept` header (SPEC-HTTP-R10).
 *
 * An offer is as good as the most specific range that takes it in says: a range of another type and its `q=0` hold for
 * what they name, and `*`/`*` for the rest. The best offer is taken; of those that are equally good, one that is named
 * by a more specific range; of those, the first offer.
 *
 * What cannot be read of the header asks for nothing and harms no other range: clients that write `*; q=.2` have been
 * there for decades, and their other ranges say enough. A header with nothing in it accepts everything.
 */

/** A content type, or a range of them: in lowercase, with the values of its parameters as they stand. */
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

/** The place of the offer that answers; undefined: none is accepted. */
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

/** What the most specific of the ranges that take the offer in says. */
function fitOf(offer: MediaRange, ranges: readonly Weighed[]): Fit | undefined {
  let fit: Fit | undefined;
  for (const range of ranges) {
    if (!isIn(offer, range)) continue;
    const specificity = specificityOf(range);
    const isFirst = fit === undefined || specificity > fit.specificity;
    // Said twice of the same: the friendlier word counts.
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
 * Names of character sets have no case (RFC 2046); other values are compared as they are. An offer without a charset is
 * UTF-8.
 */
function isSameValue(name: string, asked: string, offered: string | undefined): boolean {
  return name === 'charset' ? asked.toLowerCase() === (offered ?? 'utf-8').toLowerCase() : asked === offered;
}

const NAMED = 2;

/** Any type, any of one type, one type, one type with so many parameters. */
function specificityOf({ type, subtype, parameters }: MediaRange): number {
  if (subtype !== ANY) return NAMED + parameters.size;
  return type === ANY ? 0 : 1;
}

const ANY = '*';
/** A part between commas, or between semicolons, neither of which count inside of quotes. */
const LISTED = /(?:[^",]+|"(?:[^"\\]+|\\.)*"?)+/g;
const PARTED = /(?:[^";]+|"(?:[^"\\]+|\\.)*"?)+/g;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TYPE = new RegExp(`^(${TOKEN})/(${TOKEN})$`);
const PARAMETER = new RegExp(`^(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")$`);
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
const QUALITY_MAX = 1000;

/** Those that can be read; undefined when there is nothing in the header. */
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
  // Behind the weight stands what was once an extension of Accept, and nothing of the content type.
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
