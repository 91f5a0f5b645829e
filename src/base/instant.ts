/**
 * A point in time to the nanosecond, and its RFC 3339 spelling.
 *
 * The range is that of protobuf's Timestamp: years 0001 to 9999 in UTC. Parsing is strict: date, `T`, time to the
 * second, up to nine fraction digits, and `Z` or an offset of whole minutes; letters in either case. A leap second is
 * accepted where one may be announced, 23:59:60 UTC on 30 June or 31 December, and names the same instant as the second
 * after it, since the scale counts none. Formatting is canonical: UTC, `Z`, no trailing zeros in the fraction. Code
 * that must return a time as it was spelled keeps the text, too.
 */

export interface Instant {
  /** Unix seconds, rounded down. */
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanos: number;
}

/** 0001-01-01T00:00:00Z. */
export const INSTANT_SECONDS_MIN = -62_135_596_800;
/** 9999-12-31T23:59:59Z. */
export const INSTANT_SECONDS_MAX = 253_402_300_799;
const NANOS_MAX = 999_999_999;

const DAY_SECONDS = 86_400;
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;
const LONG_FRACTION = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}\.(\d{10,})(?:[Zz]|[+-]\d{2}:\d{2})$/;

export function isInstant(seconds: number, nanos: number): boolean {
  return (
    Number.isInteger(seconds) &&
    seconds >= INSTANT_SECONDS_MIN &&
    seconds <= INSTANT_SECONDS_MAX &&
    Number.isInteger(nanos) &&
    nanos >= 0 &&
    nanos <= NANOS_MAX
  );
}

/** Negative, zero or positive: earlier, the same, later. */
export function compareInstants(left: Instant, right: Instant): number {
  return left.seconds === right.seconds ? left.nanos - right.nanos : left.seconds - right.seconds;
}

export function instantFromMs(unixMs: number): Instant {
  const seconds = Math.floor(unixMs / 1000);
  return { seconds, nanos: (unixMs - seconds * 1000) * 1_000_000 };
}

/** Whole milliseconds, rounded down. */
export function instantToMs(instant: Instant): number {
  return instant.seconds * 1000 + Math.floor(instant.nanos / 1_000_000);
}

/** The instant; undefined when the text is not RFC 3339 or its year is outside 0001 to 9999. */
export function parseInstant(text: string): Instant | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const part = (group: number): number => Number(match[group]);
  const day = daysSinceEpoch(part(1), part(2), part(3));
  if (day === undefined || part(4) > 23 || part(5) > 59 || part(6) > 60) return undefined;
  const offset = offsetSeconds(match[8], match[9], match[10]);
  if (offset === undefined) return undefined;

  const seconds = day * DAY_SECONDS + part(4) * 3600 + part(5) * 60 + part(6) - offset;
  if (part(6) === 60 && !followsLeapSecond(seconds)) return undefined;
  const nanos = Number((match[7] ?? '').padEnd(9, '0'));
  return isInstant(seconds, nanos) ? { seconds, nanos } : undefined;
}

function fractionFault(text: string): string | undefined {
  const [, digits] = LONG_FRACTION.exec(text) ?? [];
  return digits === undefined ? undefined : `its fraction has ${digits.length} digits, and nine are the most`;
}

/**
 * The fault of a text that looks like RFC 3339 but names no instant, such as `2026-02 has no day 30`; undefined for
 * other texts.
 */
export function instantFault(text: string): string | undefined {
  const [, year = '', month = '', day = '', hour = '', minute = '', second = ''] = RFC_3339.exec(text) ?? [];
  if (year === '') return fractionFault(text);
  if (Number(month) < 1 || Number(month) > 12) return `there is no month ${month}`;
  if (daysSinceEpoch(Number(year), Number(month), Number(day)) === undefined)
    return `${year}-${month} has no day ${day}`;
  if (Number(hour) > 23) return `there is no hour ${hour}`;
  if (Number(minute) > 59) return `there is no minute ${minute}`;
  if (Number(second) > 60) return `there is no second ${second}`;
  if (second === '60') return 'second 60 is only 23:59:60 UTC on 30 June or 31 December';
  return 'its offset or its year is out of range';
}

/** The canonical spelling. */
export function formatInstant(instant: Instant): string {
  const day = Math.floor(instant.seconds / DAY_SECONDS);
  const second = instant.seconds - day * DAY_SECONDS;
  const clock = `${pad(Math.floor(second / 3600), 2)}:${pad(Math.floor(second / 60) % 60, 2)}:${pad(second % 60, 2)}`;
  const fraction = instant.nanos === 0 ? '' : `.${pad(instant.nanos, 9).replace(/0+$/, '')}`;
  return `${formatDate(day)}T${clock}${fraction}Z`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

function offsetSeconds(sign: string | undefined, hours = '00', minutes = '00'): number | undefined {
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const size = Number(hours) * 3600 + Number(minutes) * 60;
  return sign === '-' ? -size : size;
}

/** Tells whether the second is the first of a 1 July or a 1 January, so that a leap second may precede it. */
function followsLeapSecond(seconds: number): boolean {
  if (seconds % DAY_SECONDS !== 0) return false;
  return /-(?:01|07)-01$/.test(formatDate(seconds / DAY_SECONDS));
}

/** Undefined for a day that does not exist. */
function daysSinceEpoch(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  // The year begins in March, so that the leap day is its last.
  const marchYear = month <= 2 ? year - 1 : year;
  const marchMonth = (month + 9) % 12;
  const dayOfYear = Math.floor((153 * marchMonth + 2) / 5) + day - 1;
  return 365 * marchYear + leapDays(marchYear) + dayOfYear - DAYS_TO_EPOCH;
}

/** Days from 1 March of year 0 to 1 January 1970. */
const DAYS_TO_EPOCH = 719_468;
const DAYS_IN_400_YEARS = 146_097;

function leapDays(marchYear: number): number {
  return Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
}

function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function formatDate(daysFromEpoch: number): string {
  const days = daysFromEpoch + DAYS_TO_EPOCH;
  const era = Math.floor(days / DAYS_IN_400_YEARS);
  const dayOfEra = days - era * DAYS_IN_400_YEARS;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - 365 * yearOfEra - leapDays(yearOfEra);
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}
