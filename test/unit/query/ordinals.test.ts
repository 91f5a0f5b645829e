// Goal: EventOrdinals converts between the position of an event and its number among all events of the database.
// Method: transactions of several sizes, compared with a count in a loop.
import { expect, it } from 'vitest';
import { EventOrdinals } from '#query';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

async function database(): Promise<KnownDatabase> {
  const made = new KnownDatabase(memoryKv());
  for (let n = 0; n < 90; n++) {
    const events = Array.from({ length: 1 + ((n * 7) % 5) }, () => ({ source: 'a', type: 't' }));
    made.apply(events, CREATED_AT_MS);
    if (n % 20 === 0) await made.flush();
  }
  await made.flush();
  return made;
}

it('EventOrdinals counts from 1, for positions in any order', async () => {
  const known = await database();
  const ordinals = new EventOrdinals(known.source);
  const counted = known.events.map(({ stored }, index) => ({ position: stored.position, ordinal: index + 1 }));
  for (const { position, ordinal } of [...counted, ...counted.toReversed()]) {
    expect(ordinals.of(position)).toBe(ordinal);
  }
});

it('EventOrdinals finds the transaction of a number, and the last one for a number beyond the end', async () => {
  const known = await database();
  const ordinals = new EventOrdinals(known.source);
  const found = await Promise.all(known.events.map((_, index) => ordinals.revisionOf(index + 1, known.revision)));
  expect(found).toEqual(known.events.map(({ stored }) => stored.position.revision));
  expect(await ordinals.revisionOf(known.events.length + 1, known.revision)).toBe(known.revision);
  expect(await ordinals.revisionOf(0, known.revision)).toBe(1);
});
