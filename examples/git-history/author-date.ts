/**
 * The author date of a commit as RFC 3339. Git stores seconds and an offset as the author's machine wrote them and
 * judges neither: there are offsets of 518 hours, times before 1970, and commits made by hand with no date at all.
 *
 * An offset that RFC 3339 cannot say is left out: the instant stands there in UTC.
 */

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the years that RFC 3339 has. */
const SECONDS_MIN = -62_135_596_800;
const SECONDS_MAX = 253_402_300_799;
const OFFSET = /^([+-])([01]\d|2[0-3])([0-5]\d)$/;

export interface GitDate {
  /** Seconds since 1970, as git stores them: decimal digits, a sign before them at times. */
  readonly seconds: string;
  /** Such as +0530. */
  readonly offset: string;
}

/** Undefined where there is no time, or one outside the years 1 to 9999. */
export function rfc3339Of({ seconds, offset }: GitDate): string | undefined {
  if (!/^-?\d+$/.test(seconds)) return undefined;
  const at = Number(seconds);
  if (at < SECONDS_MIN || at > SECONDS_MAX) return undefined;
  const [, sign, hours, minutes] = OFFSET.exec(offset) ?? [];
  const aheadSeconds = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60);
  const localSeconds = at + aheadSeconds;
  // An offset may lead out of the years, too.
  if (sign === undefined || localSeconds < SECONDS_MIN || localSeconds > SECONDS_MAX) return `${wallClock(at)}Z`;
  return `${wallClock(localSeconds)}${sign}${hours}:${minutes}`;
}

/** The author's date in a commit as git stores it, where `git log` finds none: before 1970, or without brackets. */
export function authorDateIn(rawCommit: string): GitDate {
  const [header = ''] = rawCommit.split('\n\n', 1);
  const [, seconds = '', offset = ''] = /^author .*?(-?\d+)(?: ([+-]\d+))?$/m.exec(header) ?? [];
  return { seconds, offset };
}

function wallClock(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, -'.000Z'.length);
}
