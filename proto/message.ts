/**
 * Codec of protobuf messages: interprets the field tables of `proto/gen`.
 *
 * A decoded message has all of its fields: one that is absent has the default of its type, or is undefined where
 * protobuf tells absent and default apart. Unknown fields are skipped. A 64-bit number that is no safe integer is an
 * error, and so is nesting deeper than `DEPTH_MAX`.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

export interface MessageType<T> {
  encode(value: T, writer?: BinaryWriter): BinaryWriter;
  /** @throws Error: the bytes are not such a message */
  decode(input: BinaryReader | Uint8Array): T;
  /** The message with these fields; all others have their defaults. */
  fromPartial(partial: DeepPartial<T>): T;
}

type Scalar = Uint8Array | string | number | boolean | undefined;

export type DeepPartial<T> = T extends Scalar
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepPartial<Item>[]
    : T extends { readonly $case: string; readonly value: unknown }
      ? { readonly $case: T['$case']; readonly value?: DeepPartial<T['value']> }
      : { readonly [Name in keyof T]?: DeepPartial<T[Name]> };

export interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: ScalarName | MessageType<unknown>;
  /** `optional`: absent and default are different. `map`: by strings. */
  readonly kind?: 'optional' | 'list' | 'map';
  /** The oneof that has the field. */
  readonly oneof?: string;
}

export type ScalarName = 'bool' | 'bytes' | 'fixed64' | 'int32' | 'int64' | 'string' | 'uint32' | 'uint64';

/** Values of one type on the wire, without the tag. */
interface Codec {
  readonly wire: WireType;
  /** Default of a field without presence. */
  empty(): unknown;
  read(reader: BinaryReader, depth: number): unknown;
  write(writer: BinaryWriter, value: unknown): void;
  complete(partial: unknown): unknown;
}

type Values = Record<string, unknown>;
type Case = { readonly $case: string; readonly value: unknown } | undefined;
type CompiledField = Omit<Field, 'type'> & { readonly codec: Codec };

const DEPTH_MAX = 100;

/** The table is read at the first use: message types refer to each other. */
export function message<T>(fields: () => readonly Field[]): MessageType<T> {
  return new TableMessage<T>(fields);
}

class TableMessage<T> implements MessageType<T>, Codec {
  readonly wire: WireType = WireType.LengthDelimited;
  readonly #table: () => readonly Field[];
  #fields: ReadonlyMap<number, CompiledField> | undefined;

  constructor(table: () => readonly Field[]) {
    this.#table = table;
  }

  encode(value: T, writer: BinaryWriter = new BinaryWriter()): BinaryWriter {
    for (const field of this.#compiled().values()) writeField(writer, field, value as Values);
    return writer;
  }

  decode(input: BinaryReader | Uint8Array): T {
    const reader = input instanceof BinaryReader ? input : new BinaryReader(input);
    return this.#decode(reader, reader.len, 1) as T;
  }

  fromPartial(partial: DeepPartial<T>): T {
    return this.complete(partial) as T;
  }

  empty(): undefined {
    return undefined;
  }

  read(reader: BinaryReader, depth: number): unknown {
    const length = reader.uint32();
    return this.#decode(reader, reader.pos + length, depth + 1);
  }

  write(writer: BinaryWriter, value: unknown): void {
    this.encode(value as T, writer.fork()).join();
  }

  complete(partial: unknown): Values {
    const filled = this.#empty();
    for (const field of this.#compiled().values()) completeField(filled, field, partial as Values);
    return filled;
  }

  #decode(reader: BinaryReader, end: number, depth: number): Values {
    if (depth > DEPTH_MAX) throw new Error(`messages are nested deeper than ${DEPTH_MAX}`);
    const read = this.#empty();
    const fields = this.#compiled();
    while (reader.pos < end) {
      const [number, wire] = reader.tag();
      const field = fields.get(number);
      if (field !== undefined && isPacked(field, wire)) {
        const packEnd = reader.uint32() + reader.pos;
        while (reader.pos < packEnd) add(read, field, field.codec.read(reader, depth));
      } else if (field?.codec.wire === wire) {
        add(read, field, field.codec.read(reader, depth));
      } else {
        reader.skip(wire, number);
      }
    }
    return read;
  }

  #empty(): Values {
    const values: Values = {};
    for (const { name, kind, oneof, codec } of this.#compiled().values()) {
      if (oneof !== undefined) values[oneof] = undefined;
      else if (kind === 'list') values[name] = [];
      else if (kind === 'map') values[name] = {};
      else values[name] = kind === 'optional' ? undefined : codec.empty();
    }
    return values;
  }

  #compiled(): ReadonlyMap<number, CompiledField> {
    this.#fields ??= new Map(this.#table().map((field) => [field.number, compile(field)]));
    return this.#fields;
  }
}

function compile({ type, ...field }: Field): CompiledField {
  if (typeof type === 'string') {
    return { ...field, codec: field.kind === 'map' ? mapEntry(type) : SCALARS[type] };
  }
  if (!(type instanceof TableMessage)) throw new Error(`field ${field.name} has an unknown type`);
  return { ...field, codec: field.kind === 'map' ? mapEntry(type) : type };
}

function mapEntry(type: Field['type']): Codec {
  return new TableMessage(() => [
    { number: 1, name: 'key', type: 'string' },
    { number: 2, name: 'value', type },
  ]);
}

function isPacked({ kind, codec }: CompiledField, wire: WireType): boolean {
  return kind === 'list' && wire === WireType.LengthDelimited && codec.wire !== wire;
}

function add(values: Values, { name, kind, oneof }: CompiledField, value: unknown): void {
  if (oneof !== undefined) {
    values[oneof] = { $case: name, value };
  } else if (kind === 'list') {
    (values[name] as unknown[]).push(value);
  } else if (kind === 'map') {
    const entry = value as { readonly key: string; readonly value: unknown };
    if (entry.value !== undefined) (values[name] as Values)[entry.key] = entry.value;
  } else {
    values[name] = value;
  }
}

function writeField(writer: BinaryWriter, field: CompiledField, values: Values): void {
  const { number, kind, codec } = field;
  if (kind === 'list' && codec.wire !== WireType.LengthDelimited) {
    const items = values[field.name] as readonly unknown[];
    if (items.length === 0) return;
    writer.tag(number, WireType.LengthDelimited).fork();
    for (const item of items) codec.write(writer, item);
    writer.join();
    return;
  }
  for (const value of valuesOf(field, values)) codec.write(writer.tag(number, codec.wire), value);
}

/** The values of a field that are written, each with a tag. */
function valuesOf({ name, kind, oneof }: CompiledField, values: Values): readonly unknown[] {
  if (oneof !== undefined) {
    const chosen = values[oneof] as Case;
    return chosen?.$case === name ? [chosen.value] : [];
  }
  const value = values[name];
  if (kind === 'list') return value as readonly unknown[];
  if (kind === 'map') return Object.entries(value as Values).map(([key, each]) => ({ key, value: each }));
  return value === undefined || (kind !== 'optional' && isDefault(value)) ? [] : [value];
}

function isDefault(value: unknown): boolean {
  return value === 0 || value === '' || value === false || (value instanceof Uint8Array && value.length === 0);
}

function completeField(filled: Values, { name, kind, oneof, codec }: CompiledField, partial: Values): void {
  const given = oneof === undefined ? partial[name] : caseValue(partial[oneof] as Case, name);
  if (given === undefined || given === null) return;
  if (oneof !== undefined) {
    filled[oneof] = { $case: name, value: codec.complete(given) };
  } else if (kind === 'list') {
    filled[name] = (given as readonly unknown[]).map((item) => codec.complete(item));
  } else if (kind === 'map') {
    const entries = Object.entries(given as Values).filter(([, value]) => value !== undefined);
    for (const [key, value] of entries) add(filled, { number: 0, name, kind, codec }, codec.complete({ key, value }));
  } else {
    filled[name] = codec.complete(given);
  }
}

function caseValue(chosen: Case, name: string): unknown {
  return chosen?.$case === name ? chosen.value : undefined;
}

const zero = (): number => 0;

const SCALARS: Readonly<Record<ScalarName, Codec>> = {
  bool: scalar<boolean>(WireType.Varint, {
    empty: () => false,
    read: (from) => from.bool(),
    write: (to, value) => to.bool(value),
  }),
  bytes: scalar<Uint8Array>(WireType.LengthDelimited, {
    empty: () => Buffer.alloc(0),
    read: (from) => Buffer.from(from.bytes()),
    write: (to, value) => to.bytes(value),
  }),
  fixed64: scalar<number>(WireType.Bit64, {
    empty: zero,
    read: (from) => safe(from.fixed64()),
    write: (to, value) => to.fixed64(value),
  }),
  int32: scalar<number>(WireType.Varint, {
    empty: zero,
    read: (from) => from.int32(),
    write: (to, value) => to.int32(value),
  }),
  int64: scalar<number>(WireType.Varint, {
    empty: zero,
    read: (from) => safe(from.int64()),
    write: (to, value) => to.int64(value),
  }),
  string: scalar<string>(WireType.LengthDelimited, {
    empty: () => '',
    read: (from) => from.string(),
    write: (to, value) => to.string(value),
  }),
  uint32: scalar<number>(WireType.Varint, {
    empty: zero,
    read: (from) => from.uint32(),
    write: (to, value) => to.uint32(value),
  }),
  uint64: scalar<number>(WireType.Varint, {
    empty: zero,
    read: (from) => safe(from.uint64()),
    write: (to, value) => to.uint64(value),
  }),
};

function scalar<Value>(
  wire: WireType,
  codec: {
    readonly empty: () => Value;
    readonly read: (reader: BinaryReader) => Value;
    readonly write: (writer: BinaryWriter, value: Value) => void;
  },
): Codec {
  return {
    ...codec,
    wire,
    write: (writer, value) => codec.write(writer, value as Value),
    complete: (partial) => partial,
  };
}

function safe(value: bigint | string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`${value} is not a safe integer`);
  return number;
}
