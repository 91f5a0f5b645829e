// A database in which the orders by effective time and by subject differ strongly from the order of positions. Every
// event has another subject, half of the events are odd, half are in stream B, and hardly any event is both.
import type { KvReader, KvStore } from '#kv';
import type { Selector } from '#model';
import { and, term } from '#model';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from './known-database.ts';

export const SHUFFLED_TRANSACTIONS = 80;
const PER_TRANSACTION = 500;
export const SHUFFLED_EVENTS: number = SHUFFLED_TRANSACTIONS * PER_TRANSACTION;
/** Has no common factor with the number of events. */
const STRIDE = 7_919;
/** The only event that is odd and in stream C. */
const RARE = 13_331;

/** Each term matches half of the events, and no event matches both. */
export const NEVER_BOTH: Selector = and([term('by-type', 'odd'), term('by-stream', 'B')]);
/** The terms match half and a quarter of the events, and one event matches both. */
export const ONCE_BOTH: Selector = and([term('by-type', 'odd'), term('by-stream', 'C')]);

function event(n: number): EventSketch {
  const place = (n * STRIDE) % SHUFFLED_EVENTS;
  const stream = n % 4 === 0 || n === RARE ? 'C' : 'B';
  return {
    source: n % 2 === 0 || n === RARE ? `/${stream}` : '/A',
    type: n % 2 === 0 ? 'even' : 'odd',
    subject: `s-${String(place).padStart(6, '0')}`,
    time: { instant: { seconds: CREATED_AT_MS / 1000 + place, nanos: 0 } },
    data: new Uint8Array(60),
  };
}

export async function shuffledDatabase(store: KvStore, reader: KvReader): Promise<KnownDatabase> {
  const database = new KnownDatabase(store, reader);
  for (let n = 0; n < SHUFFLED_EVENTS; n += PER_TRANSACTION) {
    const events = Array.from({ length: PER_TRANSACTION }, (_, index) => event(n + index));
    database.apply(events, CREATED_AT_MS + n);
    await database.flush();
  }
  return database;
}
