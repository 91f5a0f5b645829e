// Goal: the kit cuts and orders by effective time as the database does, and a Map crosses as it is. Method: tables.
import { expect, it } from 'vitest';
import { defineStateView, mapCodec, type StoredEvent, stateViewGuest } from '../../sdk/component/src/index.ts';
import { happenedBy } from '../../sdk/component/testing/effective-time.ts';
import { stored } from '../../sdk/component/testing/scenario.ts';

function happening(...times: readonly string[]): readonly StoredEvent[] {
  return stored(...times.map((time, at) => ({ id: String(at), source: 's', type: 't', time })));
}

it.each<readonly [string, readonly string[], string, string]>([
  ['sorts by the instant', ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'], '2026-02-01T00:00:00Z', '10'],
  ['knows offsets', ['2026-01-01T00:30:00+01:00', '2026-01-01T00:00:00Z'], '2026-01-01T00:00:00Z', '01'],
  ['has the cut in it', ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000001Z'], '2026-01-01T00:00:00Z', '0'],
  ['counts nanoseconds', ['2026-01-01T00:00:00.2Z', '2026-01-01T00:00:00.10Z'], '2026-01-01T00:00:00.3Z', '10'],
  ['leaves what is at once', ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'], '2026-01-01T00:00:00Z', '01'],
  ['counts a leap second as the next', ['2017-01-01T00:00:00Z', '2016-12-31T23:59:60Z'], '2017-01-01T00:00:00Z', '01'],
  ['goes back before 1970', ['1969-12-31T23:59:59.5Z', '1960-01-01T00:00:00Z'], '1970-01-01T00:00:00Z', '10'],
])('happenedBy %s', (_, times, cut, expected) => {
  const found = happenedBy(happening(...times), cut);
  expect(found.map(({ id }) => id).join('')).toBe(expected);
});

it('happenedBy takes the recorded time where there is no other', () => {
  const [early, late] = stored({ id: 'a', source: 's', type: 't' }, { id: 'b', source: 's', type: 't' });
  const both = [late, early].filter((event) => event !== undefined);
  expect(happenedBy(both, '2026-01-01T00:00:00Z')).toEqual([early]);
});

it.each(['now', '2026-02-30T00:00:00Z', '2026-01-31T24:00:00Z'])('happenedBy refuses %s, which is no time', (cut) => {
  expect(() => happenedBy([], cut)).toThrow(`The time ${cut} is none; write it like 2026-01-31T09:30:00.123Z`);
});

it('mapCodec decodes what it has encoded, in the same order', () => {
  const codec = mapCodec<string, number>();
  const entries: readonly (readonly [string, number])[] = [
    ['10', 1],
    ['9', 2],
    ['__proto__', 3],
    ['', 4],
  ];
  const decoded = codec.decode(codec.encode(new Map(entries)));
  expect([...decoded]).toEqual(entries);
  expect(decoded.get('constructor')).toBeUndefined();
});

it.each([
  ['Node', 'TypeError: no\n    at evolve (view.ts:3:7)\n    at main.ts:1:1'],
  ['StarlingMonkey', 'evolve (view.ts:3:7)\nmain.ts:1:1\n'],
])('a fold that throws says what it threw, with the stack that %s gives', (_, stack) => {
  const evolve = (): never => {
    throw Object.assign(new TypeError('no'), { stack });
  };
  const guest = stateViewGuest(defineStateView({ initialState: () => 0, evolve }));
  const payload = 'TypeError: no\n    at evolve (view.ts:3:7)\n    at main.ts:1:1';
  expect(() => guest.evolve(new Uint8Array(), Buffer.from('{}'))).toThrow(expect.objectContaining({ payload }));
});
