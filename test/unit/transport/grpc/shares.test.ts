// Goal: connections share slots such that a further one always gets its share (T9). Method: examples, and random orders
// of connections.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Place, Shares } from '../../../../src/transport/grpc/wire/shares.ts';

const nothing = (): void => undefined;

/** Takes slots until none is available, and returns them. */
function takeAll(shares: Shares, connection: object, displace = nothing): readonly Place[] {
  const places: Place[] = [];
  for (;;) {
    const place = shares.tryTake(connection, displace);
    if (place === undefined) return places;
    places.push(place);
  }
}

it('gives a connection slots while more are free than it has, and releases each once', () => {
  const shares = new Shares(12);
  const first = {};
  const places = takeAll(shares, first);
  expect([places.length, shares.used, shares.heldBy(first)]).toEqual([6, 6, 6]);
  for (let n = 0; n < 2; n++) places[0]?.release();
  expect([shares.used, shares.heldBy(first), takeAll(shares, first).length]).toEqual([5, 5, 1]);
  for (const place of [...places, ...takeAll(shares, first)]) place.release();
  expect(shares.heldBy(first)).toBe(1);
});

it('displaceable slots are taken from the connection with most of them, the newest first, until it has as few', () => {
  const shares = new Shares(12);
  const [first, second, third] = [{}, {}, {}];
  const displaced: string[] = [];
  for (let n = 0; n < 6; n++) shares.tryTake(first, (count) => displaced.push(`first ${n} of ${count}`));
  for (let n = 0; n < 3; n++) shares.tryTake(second, (count) => displaced.push(`second ${n} of ${count}`));
  expect(takeAll(shares, third, nothing)).toHaveLength(4);
  expect(displaced).toEqual(['first 5 of 6', 'first 4 of 5']);
  expect([shares.heldBy(first), shares.heldBy(second), shares.used]).toEqual([4, 3, 11]);
});

it('displaceable slots leave every other connection its share, for any order of connections', () => {
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
      // It is rejected when it has as many as are free, and each of the others at most one more than it.
      expect(got).toBeGreaterThanOrEqual(Math.ceil((countMax - others) / (others + 2)));
    }),
  );
});
