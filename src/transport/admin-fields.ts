/** The fields of the messages of cairn.admin.v1, read by their numbers. */
import { decodeUtf8, isNodeId, NO_BYTES, type NodeId, ProtoReader } from '#base';

const WIRE_TYPES = 8;
const LENGTH_DELIMITED = 2;

/** The fields of a message by their numbers; unpacked numbers and byte ranges, as this file writes them. */
class Fields {
  readonly #numbers = new Map<number, number[]>();
  readonly #bytes = new Map<number, Uint8Array[]>();

  addNumber(field: number, value: number): void {
    const list = this.#numbers.get(field);
    if (list === undefined) this.#numbers.set(field, [value]);
    else list.push(value);
  }

  addBytes(field: number, value: Uint8Array): void {
    const list = this.#bytes.get(field);
    if (list === undefined) this.#bytes.set(field, [value]);
    else list.push(value);
  }

  /** The last one; 0 when there is none. */
  number(field: number): number {
    return this.#numbers.get(field)?.at(-1) ?? 0;
  }

  numbers(field: number): readonly number[] {
    return this.#numbers.get(field) ?? [];
  }

  text(field: number): string {
    return decodeUtf8(this.bytes(field)) ?? '';
  }

  /** The last one; empty when there is none. */
  bytes(field: number): Uint8Array {
    return this.#bytes.get(field)?.at(-1) ?? NO_BYTES;
  }

  messages(field: number): readonly Uint8Array[] {
    return this.#bytes.get(field) ?? [];
  }
}

/** Undefined when the bytes are no message. */
export function readFields(bytes: Uint8Array): Fields | undefined {
  const reader = new ProtoReader(bytes);
  const fields = new Fields();
  while (!reader.done) {
    const tag = reader.tag();
    const field = Math.floor(tag / WIRE_TYPES);
    if (tag % WIRE_TYPES === LENGTH_DELIMITED) {
      const start = reader.lengthDelimited();
      fields.addBytes(field, bytes.subarray(start, reader.at));
    } else if (tag % WIRE_TYPES === 0) fields.addNumber(field, reader.varint());
    else reader.skipField(tag);
  }
  return reader.failed ? undefined : fields;
}

/** Undefined for 0, as fields that are absent are read. */
export function nodeOrNone(value: number): NodeId | undefined {
  return isNodeId(value) ? value : undefined;
}
