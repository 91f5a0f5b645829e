/**
 * Fields of the protobuf messages of requests.
 *
 * Protobuf skips fields that a message does not have. But a newer client may depend on such a field: a constraint, a
 * kind of selector, an attribute of an event. If it were skipped, "must exist" would become "any event", and a
 * transaction would be committed that the client did not ask for. So unknown fields are refused, as unknown members of
 * JSON are (ADR 0156).
 */
import { concatBytes, decodeUtf8, type ProtoReader } from '#base';
import { foundBytes } from './event-place.ts';
import { type FaultPlace, type Faults, fieldBelow } from './faults.ts';

/** The place of a message, and the name of its type. */
export interface MessagePlace extends FaultPlace {
  readonly type: string;
}

/** Skips the field and adds the fault. `tag` is the result of `tag()`; invalid protobuf is no fault here. */
export function refuseField(reader: ProtoReader, tag: number, place: MessagePlace): void {
  reader.skipField(tag);
  if (reader.failed) return;
  place.faults.add(fieldBelow(place, `${Math.floor(tag / 8)}`), unknownFieldRule(tag, place.type));
}

/** Rule for an unknown field. */
export function unknownFieldRule(tag: number, type: string): string {
  return `must be absent: ${type} has no field ${Math.floor(tag / 8)} of wire type ${tag % 8}`;
}

/** A text, or undefined with the fault added. Invalid protobuf is no fault here. */
export function textField(reader: ProtoReader, field: string, faults: Faults): string | undefined {
  const start = reader.lengthDelimited();
  if (reader.failed) return undefined;
  const text = decodeUtf8(reader.bytes, start, reader.at);
  return text ?? faults.add(field, 'must be well-formed UTF-8', foundBytes(reader.bytes, start, reader.at));
}

/** The bytes of a message that may come in parts: a merged message is the concatenation of its parts. */
export function mergedField(reader: ProtoReader, earlier: Uint8Array | undefined): Uint8Array {
  const part = reader.view();
  return earlier === undefined ? part : concatBytes([earlier, part]);
}
