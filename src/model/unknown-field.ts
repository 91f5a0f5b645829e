/**
 * Fields of a request that its message does not have.
 *
 * Protobuf skips them. But a newer client may depend on such a field: a constraint, a kind of selector, an attribute of
 * an event. Skipped, "must exist" becomes "any event", and a transaction is committed that the client did not ask for.
 * So they are refused, as unknown members of JSON are (ADR 0156).
 */
import type { ProtoReader } from '#base';
import type { Faults } from './faults.ts';

/** Where the field was found: the path of its message, empty for the request itself, and the name of its type. */
export interface UnknownField {
  readonly field: string;
  readonly type: string;
  readonly faults: Faults;
}

/** Steps over the field and adds the fault. `tag` is what `tag()` returned; what is no protobuf is no fault here. */
export function refuseField(reader: ProtoReader, tag: number, { field, type, faults }: UnknownField): void {
  reader.skipField(tag);
  if (reader.failed) return;
  const number = Math.floor(tag / 8);
  faults.add(field === '' ? `${number}` : `${field}.${number}`, unknownFieldRule(tag, type));
}

/** What would be right, of a field that the message does not have. */
export function unknownFieldRule(tag: number, type: string): string {
  return `must be absent: ${type} has no field ${Math.floor(tag / 8)} of wire type ${tag % 8}`;
}
