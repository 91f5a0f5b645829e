// Places are shared by connections such that another one always gets its share (T9).
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Place, Shares } from '../../../../src/transport/grpc/wire/shares.ts';

const nothing = (): void => undefined;

/** Takes places until there is none for it, and says how many it got. */
function takeAll(shares: Shares, connection: object, displace = nothing): readonly Place[] {
  const places: Place[] = [];
  for (;;) {
    const place = shares.tryTake(connection, displace);
    if (place === undefined) return places;
    places.push(place);
  }
}

it('gives a connection places as long as more are free than it has, and takes each back once', () => {
  const shares = new Shares(12);
  const first = {};
  const places = takeAll(shares, first);
  expect([places.length, shares.used, shares.heldBy(first)]).toEqual([6, 6, 6]);
  for (let n = 0; n < 2; n++) places[0]?.release();
  expect([shares.used, shares.heldBy(first), takeAll(shares, first).length]).toEqual([5, 5, 1]);
  for (const place of [...places, ...takeAll(shares, first)]) place.release();
  expect(shares.heldBy(first)).toBe(1);
});

it('places that may be taken back are taken from the connection that has most, the newest first, until it has as few', () => {
  const shares = new Shares(12);
  const [first, second, third] = [{}, {}, {}];
  const displaced: string[] = [];
  for (let n = 0; n < 6; n++) shares.tryTake(first, (count) => displaced.push(`first ${n} of ${count}`));
  for (let n = 0; n < 3; n++) shares.tryTake(second, (count) => displaced.push(`second ${n} of ${count}`));
  expect(takeAll(shares, third, nothing)).toHaveLength(4);
  expect(displaced).toEqual(['first 5 of 6', 'first 4 of 5']);
  expect([shares.heldBy(first), shares.heldBy(second), shares.used]).toEqual([4, 3, 11]);
});

it('places that may be taken back leave every other connection its share, whoever came before', () => {
  const order = fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 300 })), { maxLength: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), order, (countMax, takers) => {
      const shares = new Shares(countMax);
      const connections = Array.from({ length: 10 }, () => ({}));
      for (const [which, count] of takers)
        for (let n = 0; n < count; n++) shares.tryTake(connections[which] ?? {}, nothing);
      const others = connections.filter((connection) => shares.heldBy(connection) > 0).length;
      const got = takeAll(shares, {}, nothing).length;
      expect(shares.used).toBeLessThanOrEqual(countMax);
      // It is refused when it has as many as are free, and each of the others one more than it at most.
      expect(got).toBeGreaterThanOrEqual(Math.ceil((countMax - others) / (others + 2)));
    }),
  );
});
