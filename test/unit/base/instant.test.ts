// Goal: RFC 3339 is parsed strictly, to the nanosecond, and formatted in one way (B4). Method: tables of spellings; the
// platform's clock arithmetic is the oracle for random instants and dates.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  compareInstants,
  formatInstant,
  INSTANT_SECONDS_MAX,
  INSTANT_SECONDS_MIN,
  instantFault,
  instantFromMs,
  instantToMs,
  isInstant,
  parseInstant,
} from '#base';

const MS_MIN = INSTANT_SECONDS_MIN * 1000;
const MS_MAX = INSTANT_SECONDS_MAX * 1000 + 999;

it.each([
  ['2026-02-30T00:00:00Z', '2026-02 has no day 30'],
  ['2026-13-01T00:00:00Z', 'there is no month 13'],
  ['2026-01-01T24:00:00Z', 'there is no hour 24'],
  ['2026-01-01T00:60:00Z', 'there is no minute 60'],
  ['2026-01-01T00:00:61Z', 'there is no second 61'],
  ['2026-01-01T00:00:60Z', 'second 60 is only 23:59:60 UTC on 30 June or 31 December'],
  ['2026-01-01T00:00:00+25:00', 'its offset or its year is out of range'],
  ['0000-12-31T23:59:59Z', 'its offset or its year is out of range'],
  ['2026-01-01T00:00:00.1234567890Z', 'its fraction has 10 digits, and nine are the most'],
  ['2026-01-01T00:00:00.123456789012+01:00', 'its fraction has 12 digits, and nine are the most'],
  ['2026-01-01T00:00:00.1234567890', undefined],
  ['noon', undefined],
])('instantFault reports for %s: %s', (text, expected) => {
  expect(parseInstant(text)).toBeUndefined();
  expect(instantFault(text)).toBe(expected);
});

it.each([
  ['1970-01-01T00:00:00Z', 0, 0],
  ['2018-04-05T17:31:00Z', 1_522_949_460, 0],
  ['2018-04-05t17:31:00z', 1_522_949_460, 0],
  ['2018-04-05T18:31:00+01:00', 1_522_949_460, 0],
  ['2018-04-05T16:31:00-01:00', 1_522_949_460, 0],
  ['2018-04-05T17:31:00-00:00', 1_522_949_460, 0],
  ['2018-04-05T17:31:00.5Z', 1_522_949_460, 500_000_000],
  ['2018-04-05T17:31:00.000000001Z', 1_522_949_460, 1],
  ['1969-12-31T23:59:59.999999999Z', -1, 999_999_999],
  ['0001-01-01T00:00:00Z', INSTANT_SECONDS_MIN, 0],
  ['9999-12-31T23:59:59.999999999Z', INSTANT_SECONDS_MAX, 999_999_999],
  ['2000-02-29T12:00:00Z', 951_825_600, 0],
  // A leap second names the same instant as the second after it.
  ['2016-12-31T23:59:60Z', 1_483_228_800, 0],
  ['2015-07-01T01:59:60.25+02:00', 1_435_708_800, 250_000_000],
])('parseInstant reads %s', (text, seconds, nanos) => {
  expect(parseInstant(text)).toEqual({ seconds, nanos });
});

it.each([
  ['no seconds', '2018-04-05T18:31Z'],
  ['no offset', '2018-04-05T18:31:00'],
  ['an offset of 60 minutes', '2018-04-05T18:31:00+01:60'],
  ['an offset without minutes', '2018-04-05T18:31:00+05'],
  ['an offset without colon', '2018-04-05T18:31:00+0500'],
  ['a space for the T', '2018-04-05 18:31:00Z'],
  ['an empty fraction', '2018-04-05T18:31:00.Z'],
  ['a comma for the point', '2018-04-05T18:31:00,5Z'],
  ['month 0', '2018-00-05T18:31:00Z'],
  ['day 0', '2018-04-00T18:31:00Z'],
  ['31 April', '2018-04-31T18:31:00Z'],
  ['29 February of no leap year', '2019-02-29T18:31:00Z'],
  ['29 February 1900', '1900-02-29T18:31:00Z'],
  ['a leap second in March', '2016-03-31T23:59:60Z'],
  ['an instant before year 1', '0001-01-01T00:00:00+00:01'],
  ['an instant after year 9999', '9999-12-31T23:59:59-00:01'],
  ['a sign before the year', '+2018-04-05T18:31:00Z'],
  ['a line break behind it', '2018-04-05T18:31:00Z\n'],
  ['nothing', ''],
])('parseInstant rejects %s', (_what, text) => {
  expect(parseInstant(text)).toBeUndefined();
});

it('parseInstant agrees with the platform on every whole minute and offset', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: MS_MIN / 60_000 + 1440, max: Math.floor(MS_MAX / 60_000) - 1440 }),
      fc.integer({ min: -1439, max: 1439 }),
      (minute, offset) => {
        const local = new Date((minute + offset) * 60_000).toISOString().slice(0, 19);
        const sign = offset < 0 ? '-' : '+';
        const pad = (value: number): string => String(value).padStart(2, '0');
        const text = `${local}${sign}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
        expect(parseInstant(text)).toEqual({ seconds: minute * 60, nanos: 0 });
      },
    ),
  );
});

it.each([
  [{ seconds: 0, nanos: 0 }, '1970-01-01T00:00:00Z'],
  [{ seconds: 0, nanos: 120_000_000 }, '1970-01-01T00:00:00.12Z'],
  [{ seconds: -1, nanos: 1 }, '1969-12-31T23:59:59.000000001Z'],
  [{ seconds: INSTANT_SECONDS_MIN, nanos: 0 }, '0001-01-01T00:00:00Z'],
  [{ seconds: INSTANT_SECONDS_MAX, nanos: 999_999_999 }, '9999-12-31T23:59:59.999999999Z'],
])('formatInstant formats %o as %s', (instant, text) => {
  expect(formatInstant(instant)).toBe(text);
});

it('formatInstant formats milliseconds like the platform, except for trailing zeros, and its text is parsed to the same instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: MS_MIN, max: MS_MAX }), (ms) => {
      const instant = instantFromMs(ms);
      const text = formatInstant(instant);
      expect(Date.parse(text)).toBe(ms);
      expect(text).toBe(new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z'));
      expect(parseInstant(text)).toEqual(instant);
      expect(instantToMs(instant)).toBe(ms);
    }),
  );
});

it('formatInstant loses no nanosecond', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: INSTANT_SECONDS_MIN, max: INSTANT_SECONDS_MAX }),
      fc.nat(999_999_999),
      (seconds, nanos) => {
        expect(parseInstant(formatInstant({ seconds, nanos }))).toEqual({ seconds, nanos });
      },
    ),
  );
});

it('instants are ordered by second, then nanosecond', () => {
  const sorted = [
    { seconds: -2, nanos: 999_999_999 },
    { seconds: -1, nanos: 0 },
    { seconds: -1, nanos: 5 },
    { seconds: 3, nanos: 0 },
  ];
  expect(sorted.toReversed().toSorted(compareInstants)).toEqual(sorted);
  expect(compareInstants({ seconds: 1, nanos: 1 }, { seconds: 1, nanos: 1 })).toBe(0);
});

it.each([
  [INSTANT_SECONDS_MIN - 1, 0],
  [INSTANT_SECONDS_MAX + 1, 0],
  [0, -1],
  [0, 1_000_000_000],
  [0.5, 0],
  [0, 0.5],
  [Number.NaN, 0],
])('an instant does not have %d seconds and %d nanoseconds', (seconds, nanos) => {
  expect(isInstant(seconds, nanos)).toBe(false);
});
