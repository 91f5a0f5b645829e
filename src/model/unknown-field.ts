/**
 * Fields of a request that its message does not have.
 *
 * Protobuf skips them. But a newer client may depend on such a field: a constraint, a kind of selector, an attribute of
 * an event. If it were skipped, "must exist" would become "any event", and a transaction would be committed that the
 * client did not ask for. So unknown fields are refused, as unknown members of JSON are (ADR 0156).
 */
import type { ProtoReader } from '#base';
import type { Faults } from './faults.ts';

/** Path of the message that has the field, empty for the request itself, and the name of its type. */
export interface UnknownField {
  readonly field: string;
  readonly type: string;
  readonly faults: Faults;
}

/** Skips the field and adds the fault. `tag` is the result of `tag()`; invalid protobuf is no fault here. */
export function refuseField(reader: ProtoReader, tag: number, { field, type, faults }: UnknownField): void {
  reader.skipField(tag);
  if (reader.failed) return;
  const number = Math.floor(tag / 8);
  faults.add(field === '' ? `${number}` : `${field}.${number}`, unknownFieldRule(tag, type));
}

/** Rule for an unknown field. */
export function unknownFieldRule(tag: number, type: string): string {
  return `must be absent: ${type} has no field ${Math.floor(tag / 8)} of wire type ${tag % 8}`;
}
