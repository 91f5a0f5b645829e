/**
 * Values of the component model in the host.
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
 *   option                     the value, or undefined; nested options are { tag, val } with the tags some and none
 *   own, borrow                Handle
 *
 * Records have no prototype, because the component chooses the names of their fields.
 */

export type Value = undefined | boolean | number | bigint | string | Uint8Array | Handle | ValueList | ValueRecord;
export type ValueList = readonly Value[];
export interface ValueRecord {
  readonly [field: string]: Value;
}

/** The component instance that made a resource: its handle table, and its destructor. */
export interface ResourceHome {
  readonly handles: object;
  destroy(id: number): void;
}

/** A resource: the number that its maker gave it. Resources without a home are the host's; only these leave a guest. */
export class Handle {
  readonly id: number;
  readonly home: ResourceHome | undefined;

  constructor(id: number, home?: ResourceHome) {
    this.id = id;
    this.home = home;
  }
}

/** A record with these fields. */
export function record(fields: Iterable<readonly [name: string, value: Value]>): ValueRecord {
  const made = emptyRecord();
  for (const [name, value] of fields) made[name] = value;
  return made;
}

/** A case of a variant, a result, or a nested option. */
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

/** `Array.isArray` alone narrows the type to `any[]`. */
export function isList(value: Value): value is ValueList {
  return Array.isArray(value);
}

function emptyRecord(): { [field: string]: Value } {
  const made: { [field: string]: Value } = {};
  Object.setPrototypeOf(made, null);
  return made;
}
