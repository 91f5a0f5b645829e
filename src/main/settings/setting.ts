/**
 * One setting: its type, its default and its help text.
 *
 * A setting has one name in three spellings: `grpcPort` in the code, `--grpc-port` on the command line, and
 * `CAIRN_GRPC_PORT` in the environment.
 */
import { type Address, failure, formatAddress, isHost, nearestName, ok, parseAddress, quote, type Result } from '#base';
import { leadingZeroRule } from '#model';

export interface SettingType<T> {
  /** Describes valid values: `a port, 0 to 65535 (0: a free one)`. */
  readonly expects: string;
  /** Addition to `expects` for a text that is almost valid. */
  hint?(text: string): string;
  /** The value, or `undefined` when the text is invalid. */
  read(text: string): T | undefined;
  /** The text of a value, as a person would write it. */
  write(value: T): string;
}

export interface Setting<T> {
  readonly type: SettingType<T>;
  readonly default: T;
  readonly help: string;
}

/** Settings whose values have one type. */
export type Each<Value, Name extends string> = { readonly [Key in Name]: Value };

/** A whole number in [min, max]. */
export function wholeNumber(range: {
  readonly min: number;
  readonly max: number;
  readonly unit: string;
}): SettingType<number> {
  return {
    expects: `${range.unit}, ${range.min} to ${range.max}`,
    hint: leadingZeroRule,
    read: (text) => within(digits(text), range),
    write: String,
  };
}

/** A TCP port; 0 picks a free one. */
export const port: SettingType<number> = {
  ...wholeNumber({ min: 0, max: 65_535, unit: 'a port' }),
  expects: 'a port, 0 to 65535 (0: a free one)',
};

/** Up to `max` values between separators; or a word for none. */
export function listOf<T>(items: {
  readonly expects: string;
  readonly max: number;
  readonly read: (text: string) => T | undefined;
  readonly write: (value: T) => string;
  readonly separator?: string;
  readonly none?: string;
}): SettingType<readonly T[]> {
  const { expects, max, read, write, separator = ',', none = 'none' } = items;
  return {
    expects: `${none}, or ${expects}`,
    read: (text) => {
      const parsed = text === none ? [] : text.split(separator).map((each) => read(each.trim()));
      const known = parsed.filter((each) => each !== undefined);
      return known.length === parsed.length && known.length <= max ? known : undefined;
    },
    write: (list) => (list.length === 0 ? none : list.map(write).join(separator)),
  };
}

/** Addresses host:port, separated by commas; or the word `none`. */
export const addresses: SettingType<readonly Address[]> = listOf({
  expects: 'addresses host:port separated by commas',
  max: 100,
  read: parseAddress,
  write: formatAddress,
});

const UNIT = /(?:KiB|MiB|GiB)$/;
const BYTE_UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A size in [min, max] bytes, a multiple of `step`, with an optional unit KiB, MiB or GiB. */
export function byteSize(range: {
  readonly min: number;
  readonly max: number;
  readonly step?: number;
}): SettingType<number> {
  const { min, max, step = 1 } = range;
  const steps = step === 1 ? '' : ` that is a multiple of ${formatBytes(step)}`;
  return {
    expects: `a size from ${formatBytes(min)} to ${formatBytes(max)}${steps}, in bytes or with KiB, MiB or GiB`,
    hint: (text) => leadingZeroRule(text.replace(UNIT, '')),
    read: (text) => {
      const count = digits(text.replace(UNIT, ''));
      const factor = BYTE_UNITS[UNIT.exec(text)?.[0] ?? ''];
      const bytes = within(count === undefined || factor === undefined ? undefined : count * factor, range);
      return bytes !== undefined && bytes % step === 0 ? bytes : undefined;
    },
    write: formatBytes,
  };
}

/** The given word, or a value of the type. */
export function wordOr<const W extends string, T>(word: W, type: SettingType<T>): SettingType<T | W> {
  return {
    expects: `${word}, or ${type.expects}`,
    hint: (text) => type.hint?.(text) ?? '',
    read: (text) => (text === word ? word : type.read(text)),
    write: (value) => (isWord(value, word) ? word : type.write(value)),
  };
}

function isWord<W extends string>(value: unknown, word: W): value is W {
  return value === word;
}

export const trueOrFalse: SettingType<boolean> = {
  expects: 'true or false',
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  write: String,
};

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[]): SettingType<T> {
  return { expects: `one of ${words.join(', ')}`, read: (text) => words.find((word) => word === text), write: String };
}

/** Any text of 1 to `max` characters without control characters. */
export function plainText(what: string, max: number): SettingType<string> {
  const isRight = (text: string): boolean => text.length > 0 && text.length <= max && !/\p{Cc}/u.test(text);
  return textType(`${what}, 1 to ${max} characters`, isRight);
}

/** A text that is used as it is written. */
export function textType(expects: string, isRight: (text: string) => boolean): SettingType<string> {
  return { expects, read: (text) => (isRight(text) ? text : undefined), write: String };
}

/** A setting with the default `auto`: the node finds a value by itself. */
export function orAuto<T>(type: SettingType<T>, help: string): Setting<T | 'auto'> {
  return { type: wordOr('auto', type), default: 'auto', help };
}

/** A setting with the default `off`. */
export function orOff<T>(type: SettingType<T>, help: string): Setting<T | 'off'> {
  return { type: wordOr('off', type), default: 'off', help };
}

/** A setting that names a file, or `none`. */
export function optionalFile(help: string): Setting<string> {
  return { type: wordOr('none', plainText('a file', 4096)), default: 'none', help };
}

/** A name without spaces or control characters, of 1 to `max` characters. */
export function oneWord(what: string, max: number): SettingType<string> {
  const plain = plainText(what, max);
  return textType(`${what} without spaces, 1 to ${max} characters`, (text) => !/\s/.test(plain.read(text) ?? ' '));
}

/** `*`, or origins `scheme://host[:port]` as browsers send them, separated by commas and optional spaces. */
export const origins: SettingType<'*' | readonly string[]> = {
  expects: '*, or origins such as https://shop.example:8443 separated by commas',
  read: (text) => {
    if (text === '*') return text;
    const list = text.split(',').map((each) => each.trim());
    return list.every(isOrigin) ? list : undefined;
  },
  write: (list) => (list === '*' ? list : list.join(',')),
};

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//.test(text) && new URL(text).origin === text;
}

/** URL of an HTTP server. It has no user and no query, because settings must not contain secrets. */
export const baseUrl: SettingType<string> = textType(
  'a URL such as http://host:port, without user, query and fragment',
  isBaseUrl,
);

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text) || !/^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/.test(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

/** A fraction of a whole. */
export const share: SettingType<number> = {
  expects: 'a number from 0 to 1, with up to six decimals',
  read: (text) => (/^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/.test(text) ? Number(text) : undefined),
  write: String,
};

/** The host of an address. */
export const host: SettingType<string> = textType('an IP address or a host name', isHost);

/** Reads one text; the failure names the given text and what is expected. */
export function readSetting<T>(
  setting: Setting<T>,
  given: { readonly name: string; readonly text: string },
): Result<T, string> {
  const value = setting.type.read(given.text);
  if (value !== undefined) return ok(value);
  const hint = setting.type.hint?.(given.text) ?? '';
  return failure(`${given.name} is ${quote(given.text)}; it must be ${setting.type.expects}${hint}.`);
}

/** `grpcPort` → `grpc-port`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `grpcPort` → `CAIRN_GRPC_PORT`. */
export function variableName(key: string): string {
  return `CAIRN_${flagName(key).replaceAll('-', '_').toUpperCase()}`;
}

const EDITS_MAX = 3;
/** A name needs this many letters per edit, so that short names do not match everything. */
const LETTERS_PER_EDIT = 3;

/** Suggests the closest name as a question; returns `otherwise` when none is close. */
export function suggestion(name: string, names: readonly string[], otherwise: string, prefix = '--'): string {
  const nearest = nearestName(name, names, Math.min(EDITS_MAX, Math.floor(name.length / LETTERS_PER_EDIT)));
  return nearest === undefined ? otherwise : `did you mean ${prefix}${nearest}?`;
}

/** A decimal number without sign or leading zero. */
function digits(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined;
}

function within(value: number | undefined, range: { readonly min: number; readonly max: number }): number | undefined {
  return value !== undefined && value >= range.min && value <= range.max ? value : undefined;
}

/** Formats a size in the largest unit that yields a whole number. */
export function formatBytes(bytes: number): string {
  for (const [unit, factor] of Object.entries(BYTE_UNITS).toReversed()) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return `${bytes}`;
}
