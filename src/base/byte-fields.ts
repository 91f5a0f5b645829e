/**
 * Records in bytes. A record is declared once, as its fields in their order: both the writer and the reader follow from
 * the declaration.
 *
 * Reading any bytes ends and never throws. With `reader.failed` the result is meaningless.
 */
import { type DatabaseId, isDatabaseId, isRevision, type Revision } from './brand.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { formatUuid, uuidBytes } from './uuid.ts';

const UUID_BYTES = 16;

/** One value of a record. */
export interface Field<Value> {
  write(writer: ByteWriter, value: Value): void;
  /** Sets `reader.failed` for impossible values. */
  read(reader: ByteReader): Value;
}

/** A value whose encoding depends on the fields before it. */
export interface DependentField<Value, Whole> {
  write(writer: ByteWriter, value: Value, whole: Whole): void;
  read(reader: ByteReader, before: Whole): Value;
}

/** The fields of a record, in the order in which they are written. */
export type Fields<Whole> = { readonly [Name in keyof Whole]: DependentField<Whole[Name], Whole> };

interface Kinded {
  readonly kind: string;
}

type OfKind<Whole extends Kinded, Kind> = Extract<Whole, { readonly kind: Kind }>;

/** Records of several kinds: each is a tag of one byte, and its fields. */
export interface Kinds<Whole extends Kinded> extends Field<Whole> {
  /** The records of one kind, without the tag. */
  of<Kind extends Whole['kind']>(kind: Kind): Field<OfKind<Whole, Kind>>;
}

/** The tag and the fields of each kind; a new kind does not compile without them. */
type Layouts<Whole extends Kinded> = {
  readonly [Kind in Whole['kind']]: readonly [tag: number, fields: Fields<Omit<OfKind<Whole, Kind>, 'kind'>>];
};

type AnyRecord = Record<string, unknown>;
type AnyFields = Readonly<Record<string, DependentField<unknown, AnyRecord>>>;

export function fieldsOf<Whole extends object>(fields: Fields<Whole>): Field<Whole>;
export function fieldsOf(fields: AnyFields): Field<AnyRecord> {
  return inOrder(fields, {});
}

export function kindsOf<Whole extends Kinded>(layouts: Layouts<Whole>): Kinds<Whole>;
export function kindsOf(
  layouts: Readonly<Record<string, readonly [number, AnyFields]>>,
): Field<AnyRecord> & { of(kind: string): Field<AnyRecord> | undefined } {
  const byKind = new Map<unknown, { readonly tag: number; readonly fields: Field<AnyRecord> }>();
  const byTag: Field<AnyRecord>[] = [];
  for (const [kind, [tag, parts]] of Object.entries(layouts)) {
    const fields = inOrder(parts, { kind });
    byKind.set(kind, { tag, fields });
    byTag[tag] = fields;
  }
  return {
    write: (writer, value) => {
      const layout = byKind.get(value['kind']);
      writer.u8(layout?.tag ?? 0);
      layout?.fields.write(writer, value);
    },
    read: (reader) => byTag[reader.u8()]?.read(reader) ?? fail(reader, {}),
    of: (kind) => byKind.get(kind)?.fields,
  };
}

/** Objects instead of pairs, because iterators of pairs are slow. */
function inOrder(fields: AnyFields, start: AnyRecord): Field<AnyRecord> {
  const parts = Object.entries(fields).map(([name, field]) => ({ name, field }));
  return {
    write: (writer, value) => {
      for (const { name, field } of parts) field.write(writer, value[name], value);
    },
    read: (reader) => {
      const value = { ...start };
      for (const { name, field } of parts) value[name] = field.read(reader, value);
      return value;
    },
  };
}

/** Sets `failed`: the bytes are not a valid record. Returns the value, for `return`. */
export function fail(reader: ByteReader): undefined;
export function fail<Value>(reader: ByteReader, value: Value): Value;
export function fail(reader: ByteReader, value?: unknown): unknown {
  reader.skip(reader.left + 1);
  return value;
}

export const VARINT: Field<number> = {
  write: (writer, value) => writer.varint(value),
  read: (reader) => reader.varint(),
};

/** An integer in 8 bytes, little-endian. */
export const U64: Field<number> = {
  write: (writer, value) => writer.u64le(value),
  read: (reader) => reader.u64le(),
};

export const FLAG: Field<boolean> = {
  write: (writer, flag) => writer.u8(flag ? 1 : 0),
  read: (reader) => {
    const value = reader.u8();
    return value > 1 ? fail(reader, false) : value === 1;
  },
};

/** The length in bytes, and UTF-8. */
export const TEXT: Field<string> = {
  write: (writer, text) => {
    const mark = writer.beginLength();
    writer.utf8(text);
    writer.endLength(mark);
  },
  read: (reader) => reader.utf8(reader.varint()),
};

/** The length, and the bytes. They are read as a view. */
export const VIEW: Field<Uint8Array> = {
  write: (writer, bytes) => {
    writer.varint(bytes.length);
    writer.bytes(bytes);
  },
  read: (reader) => reader.bytes(reader.varint()),
};

/** The length, and the bytes. They are copied when they are read. */
export const BYTES: Field<Uint8Array> = { ...VIEW, read: (reader) => VIEW.read(reader).slice() };

/** Everything to the end, as a view. */
export const REST: Field<Uint8Array> = {
  write: (writer, bytes) => writer.bytes(bytes),
  read: (reader) => reader.bytes(reader.left),
};

/** That many bytes, which are copied when they are read. */
export function fixedBytes(count: number): Field<Uint8Array> {
  return { ...REST, read: (reader) => reader.bytes(count).slice() };
}

/** A UUID in lowercase canonical form, in 16 bytes. */
export const UUID: Field<string> = mapped(fixedBytes(UUID_BYTES), uuidBytes, (bytes) =>
  bytes.length === UUID_BYTES ? formatUuid(bytes) : undefined,
);

export const DATABASE_ID: Field<DatabaseId> = valid(UUID, isDatabaseId);
export const REVISION: Field<Revision> = valid(VARINT, isRevision);

/** A flag, and the value if it is set. */
export function optional<Value>(field: Field<Value>): Field<Value | undefined> {
  return {
    write: (writer, value) => {
      FLAG.write(writer, value !== undefined);
      if (value !== undefined) field.write(writer, value);
    },
    read: (reader) => (FLAG.read(reader) ? field.read(reader) : undefined),
  };
}

/** The position of the value among these, counted from `base`, in one byte. */
export function oneOf<Value>(values: readonly Value[], base?: number): Field<Value>;
export function oneOf(values: readonly unknown[], base: number = 0): Field<unknown> {
  return {
    write: (writer, value) => writer.u8(values.indexOf(value) + base),
    read: (reader) => {
      const at = reader.u8() - base;
      return at >= 0 && at < values.length ? values[at] : fail(reader);
    },
  };
}

/** The count, and the items. */
export function listOf<Item>(
  field: Field<Item>,
  { min = 0, max = Number.POSITIVE_INFINITY }: { readonly min?: number; readonly max?: number } = {},
): Field<readonly Item[]> {
  return {
    write: (writer, items) => {
      writer.varint(items.length);
      for (const item of items) field.write(writer, item);
    },
    read: (reader) => {
      const items: Item[] = [];
      const count = reader.varint();
      if (count < min || count > max) return fail(reader, items);
      while (items.length < count && !reader.failed) items.push(field.read(reader));
      return items;
    },
  };
}

/** Values that pass a test. */
export function valid<Raw, Value extends Raw>(field: Field<Raw>, isValid: (raw: Raw) => raw is Value): Field<Value>;
export function valid<Value>(field: Field<Value>, isValid: (value: Value) => boolean): Field<Value>;
export function valid(field: Field<unknown>, isValid: (value: unknown) => boolean): Field<unknown> {
  return {
    write: (writer, value) => field.write(writer, value),
    read: (reader) => {
      const value = field.read(reader);
      return isValid(value) ? value : fail(reader, value);
    },
  };
}

/** A value that is written as another one. `from` returns undefined for one that is impossible. */
export function mapped<Value, Written>(
  field: Field<Written>,
  to: (value: Value) => Written,
  from: (written: Written) => Value | undefined,
): Field<Value>;
export function mapped(
  field: Field<unknown>,
  to: (value: unknown) => unknown,
  from: (written: unknown) => unknown,
): Field<unknown> {
  return {
    write: (writer, value) => field.write(writer, to(value)),
    read: (reader) => from(field.read(reader)) ?? fail(reader),
  };
}
