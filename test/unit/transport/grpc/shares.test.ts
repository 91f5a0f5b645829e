// Goal: places are shared by connections such that another one always gets its share (T9). Method: examples, and crowds
// in any order against the least that a connection among n others gets.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Place, Shares } from '../../../../src/transport/grpc/wire/shares.ts';

const nothing = (): void => undefined;

/** Takes places until there is none for it, and says how many it got. */
function takeAll(shares: Shares, connection: object, displace?: () => void): readonly Place[] {
  const places: Place[] = [];
  for (;;) {
    const place = shares.tryTake(connection, displace);
    if (place === undefined) return places;
    places.push(place);
  }
}

describe('places that are kept until they are released', () => {
  it('go to a connection as long as more are free than it has', () => {
    const shares = new Shares(12);
    const [first, second, third] = [{}, {}, {}];
    expect(takeAll(shares, first)).toHaveLength(6);
    expect(takeAll(shares, second)).toHaveLength(3);
    expect(takeAll(shares, third)).toHaveLength(2);
    expect([shares.used, shares.heldBy(first)]).toEqual([11, 6]);
  });

  it('are given to others when they are released, and not to whoever has more', () => {
    const shares = new Shares(12);
    const [first, second] = [{}, {}];
    const places = takeAll(shares, first);
    takeAll(shares, second);
    places[0]?.release();
    places[0]?.release();
    expect(shares.used).toBe(8);
    expect(shares.tryTake(first)).toBeUndefined();
    expect(shares.tryTake(second)).toBeDefined();
  });
});

describe('places that may be taken back', () => {
  it('are taken from the connection that has most, the newest first, until it has as few', () => {
    const shares = new Shares(12);
    const [first, second, third] = [{}, {}, {}];
    const displaced: string[] = [];
    for (let n = 0; n < 6; n++) shares.tryTake(first, (count) => displaced.push(`first ${n} of ${count}`));
    for (let n = 0; n < 3; n++) shares.tryTake(second, (count) => displaced.push(`second ${n} of ${count}`));
    expect(takeAll(shares, third, nothing)).toHaveLength(4);
    expect(displaced).toEqual(['first 5 of 6', 'first 4 of 5']);
    expect([shares.heldBy(first), shares.heldBy(second), shares.used]).toEqual([4, 3, 11]);
  });

  it('are not taken back by whoever has as many', () => {
    const shares = new Shares(2);
    const [first, second, third] = [{}, {}, {}];
    shares.tryTake(first, nothing);
    shares.tryTake(second, nothing);
    expect(shares.tryTake(third, nothing)).toBeUndefined();
    expect([shares.heldBy(first), shares.heldBy(second)]).toEqual([1, 1]);
  });

  it('leave every other connection its share, whoever came before', () => {
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
});
