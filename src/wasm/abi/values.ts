/**
 * Values of the component model, as the host has them.
 *
 *   bool                       boolean
 *   u8 … u32, s8 … s32, f32, f64   number
 *   u64, s64                   bigint
 *   char, string               string
 *   list<u8>                   Uint8Array
 *   list, tuple                array
 *   record                     object by the names of its fields, as they are written in WIT
 *   variant, result            { tag, val }, a result with the tags ok and err
 *   enum                       string
 *   flags                      array of the names that are set
 *   option                     the value, or undefined; of an option { tag, val } with the tags some and none
 *   own, borrow                Handle
 *
 * Records have no prototype, because their fields are named by whoever made the component.
 */

export type Value = undefined | boolean | number | bigint | string | Uint8Array | Handle | ValueList | ValueRecord;
export type ValueList = readonly Value[];
export interface ValueRecord {
  readonly [field: string]: Value;
}

/** Where resources of a guest were made: whose numbers theirs are, and how one is destroyed. */
export interface ResourceHome {
  readonly handles: object;
  destroy(id: number): void;
}

/** A resource: a number that its maker gave it. Those without a home are the host's, and only they leave a guest. */
export class Handle {
  readonly id: number;
  readonly home: ResourceHome | undefined;

  constructor(id: number, home?: ResourceHome) {
    this.id = id;
    this.home = home;
  }
}

/** A record of these fields. */
export function record(fields: Iterable<readonly [name: string, value: Value]>): ValueRecord {
  const made = emptyRecord();
  for (const [name, value] of fields) made[name] = value;
  return made;
}

/** A case of a variant, a result, or an option of an option. */
export function tagged(tag: string, val?: Value): ValueRecord {
  const made = emptyRecord();
  made['tag'] = tag;
  made['val'] = val;
  return made;
}

export function isRecord(value: Value): value is ValueRecord {
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  return !(value instanceof Uint8Array || value instanceof Handle);
}

/** `Array.isArray` makes lists of anything of what it has looked at. */
export function isList(value: Value): value is ValueList {
  return Array.isArray(value);
}

function emptyRecord(): { [field: string]: Value } {
  const made: { [field: string]: Value } = {};
  Object.setPrototypeOf(made, null);
  return made;
}
