/** Fields that are lists of pairs of texts, and maps, which are lists of entries on the wire. */
import type { Faults } from '#model';
import { Fields, type MessageShape } from './request-walk.ts';

type Pair = readonly [name: string, value: string];

interface Place {
  /** The path of the message that has the list; empty: it is the request. */
  readonly field: string;
  readonly faults: Faults;
}

const NAME_VALUE: MessageShape = pairShape('NameValue', 'name');

/** As they were sent. */
export function pairsOf(fields: Fields, list: string, place: Place): readonly Pair[] {
  return readPairs(fields, list, { ...place, shape: NAME_VALUE, name: 'name' });
}

/** Of a map, in the order in which they were sent; `type` is what its entries are called. */
export function entriesOf(
  fields: Fields,
  map: string,
  { type, ...place }: Place & { readonly type: string },
): readonly Pair[] {
  return readPairs(fields, map, { ...place, shape: pairShape(type, 'key'), name: 'key' });
}

function pairShape(type: string, name: string): MessageShape {
  return {
    type,
    texts: new Map([
      [0x0a, name],
      [0x12, 'value'],
    ]),
  };
}

function readPairs(
  fields: Fields,
  list: string,
  { shape, name, field, faults }: Place & { readonly shape: MessageShape; readonly name: string },
): readonly Pair[] {
  return fields.all(list).map((bytes, at) => {
    const pair = new Fields(bytes, shape, { field: `${field === '' ? list : `${field}.${list}`}[${at}]`, faults });
    return [pair.text(name) ?? '', pair.text('value') ?? ''] as const;
  });
}
