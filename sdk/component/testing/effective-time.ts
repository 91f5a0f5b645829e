/** The order of effective time, as in the database: by `time`, or by the recorded time when it is absent. */
import type { StoredEvent } from '../src/index.ts';

/** The events up to and including the instant, in the order of effective time; ties keep the stored order. */
export function happenedBy(events: readonly StoredEvent[], cut: string): readonly StoredEvent[] {
  const end = instantIn(cut);
  return events
    .map((event) => ({ event, at: instantIn(event.time ?? event.recordedtime) }))
    .filter(({ at }) => compared(at, end) <= 0)
    .toSorted((one, other) => compared(one.at, other.at))
    .map(({ event }) => event);
}

function compared(one: Instant, other: Instant): number {
  if (one.seconds !== other.seconds) return one.seconds < other.seconds ? -1 : 1;
  return one.nanoseconds - other.nanoseconds;
}

interface Instant {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** RFC 3339 with up to nine fractional digits. */
const TIME = /^(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

/** A leap second equals the second after it. An invalid date gives undefined. */
function instantIn(time: string): Instant {
  const [, day = '', minute = '', second = '', fraction = '', zone = ''] = TIME.exec(time) ?? [];
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const ms = Date.parse(`${day}T${minute}:00${zone.toUpperCase()}`);
  if (Number.isNaN(midnight + ms) || new Date(midnight).getUTCDate() !== Number(day.slice(-2))) {
    throw new TypeError(`The time ${time} is none; write it like 2026-01-31T09:30:00.123Z`);
  }
  return { seconds: ms / 1000 + Number(second), nanoseconds: Number(fraction.padEnd(9, '0')) };
}
