// Goal: a list keeps its order under any changes, and a removed link references nothing of the list. Method: examples,
// and random schedules compared with an array.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Link, LinkedList } from '#base';

function valuesOf<Value>(list: LinkedList<Value>): readonly Value[] {
  const values: Value[] = [];
  list.find((value) => {
    values.push(value);
    return false;
  });
  return values;
}

it('a linked list accepts a link only when it is in no list, and ignores the removal of a link that it does not have', () => {
  const [list, other] = [new LinkedList<string>(), new LinkedList<string>()];
  const link = new Link('one');
  list.append(link);
  expect(() => other.append(link)).toThrow('A link is in one list at a time');
  expect([list.has(link), other.has(link), other.remove(link)]).toEqual([true, false, false]);
  other.toEnd(link);
  expect([list.remove(link), list.remove(link), other.size]).toEqual([true, false, 0]);
  other.append(link);
  expect(other.first).toBe('one');
});

it('a linked list leaves no reference from a removed link to its neighbours', () => {
  const list = new LinkedList<number>();
  const links = [1, 2, 3].map((value) => new Link(value));
  for (const link of links) list.append(link);
  for (const link of links) list.remove(link);
  for (const { list: of, previous, next } of links)
    expect([of, previous, next]).toEqual([undefined, undefined, undefined]);
});

it('a linked list has the order of an array after the same changes', () => {
  const step = fc.tuple(fc.constantFrom('append', 'remove', 'toEnd'), fc.nat({ max: 7 }));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const links = Array.from({ length: 8 }, (_, value) => new Link(value));
      const list = new LinkedList<number>();
      let model: number[] = [];
      for (const [kind, value] of steps) {
        const link = links[value];
        if (link === undefined) continue;
        const isIn = model.includes(value);
        if (kind === 'append' ? !isIn : isIn) model = model.filter((other) => other !== value);
        if (kind === 'append' && !isIn) list.append(link);
        else if (kind === 'remove') list.remove(link);
        else if (kind === 'toEnd') list.toEnd(link);
        if (kind === 'append' ? !isIn : kind === 'toEnd' && isIn) model.push(value);
        expect([list.size, list.first, valuesOf(list)]).toEqual([model.length, model[0], model]);
      }
    }),
  );
});
