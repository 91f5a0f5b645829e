// Goal: a value in a slot is found by its number, and not by the earlier or later numbers of the same slot. Method:
// examples, and random schedules compared with a Map.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Slots } from '#base';
import { runs } from '../../support/runs.ts';

it('Slots reuses a slot with another number', () => {
  const slots = new Slots<string>();
  const first = slots.add('first');
  slots.remove(first);
  const second = slots.add('second');
  expect(second).not.toBe(first);
  expect(second % 2 ** 20).toBe(first % 2 ** 20);
  expect([slots.get(first), slots.get(second)]).toEqual([undefined, 'second']);
});

it.each([Number.NaN, -1, 0.5, 2 ** 20, Number.POSITIVE_INFINITY])('Slots has nothing under %d', (number) => {
  const slots = new Slots<string>();
  slots.add('one');
  expect([slots.get(number), slots.remove(number), slots.size]).toEqual([undefined, undefined, 1]);
});

it('Slots has the content of a Map after any additions and removals', () => {
  const step = fc.oneof(
    fc.constant<'add'>('add'),
    fc.nat({ max: 30 }).map((pick) => ({ pick })),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const slots = new Slots<object>();
      const model = new Map<number, object>();
      const given: number[] = [];
      const taken = steps.map((what) => {
        if (what === 'add') {
          const value = {};
          const number = slots.add(value);
          given.push(number);
          model.set(number, value);
          return { actual: value, expected: value };
        }
        const number = given[what.pick % Math.max(given.length, 1)] ?? 0;
        const expected = model.get(number);
        model.delete(number);
        return { actual: slots.remove(number), expected };
      });
      expect(new Set(given).size).toBe(given.length);
      for (const { actual, expected } of taken) expect(actual).toBe(expected);
      expect(slots.size).toBe(model.size);
      expect(new Set(slots.values())).toEqual(new Set(model.values()));
      for (const number of given) expect(slots.get(number)).toBe(model.get(number));
    }),
    { numRuns: runs(200) },
  );
});
