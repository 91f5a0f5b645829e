/** Durations of the API, in Go's notation. */

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

/** Milliseconds of a duration such as 1h30m. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)([hms])/g)];
  return parts.reduce((sum, [, count = '0', unit = 's']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}
