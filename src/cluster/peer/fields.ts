/**
 * Fields of messages in bytes. A message is declared once, as its fields in their order: both the writer and the reader
 * follow from the declaration.
 *
 * Reading any bytes ends and never throws. With `reader.failed` the result is meaningless.
 */
import {
  type ByteReader,
  type ByteWriter,
  CATALOG_GROUP,
  encodeUtf8,
  type GroupId,
  hasNode,
  isGroupId,
  isLogIndex,
  isReplicaId,
  isTerm,
  type LogIndex,
  type ReplicaId,
  type Term,
  toLogIndex,
  toReplicaId,
  toTerm,
} from '#base';
import { decodeMembership, type EntryId, encodeMembership, everybody, type Membership } from '#raft';

/** One value of a message. */
export interface Field<Value> {
  write(writer: ByteWriter, value: Value): void;
  /** Sets `reader.failed` for impossible values. */
  read(reader: ByteReader): Value;
}

/** A value whose encoding depends on the fields before it. */
export interface DependentField<Value, Message> {
  write(writer: ByteWriter, value: Value, message: Message): void;
  read(reader: ByteReader, before: Message): Value;
}

/** The fields of a message, in the order in which they are written. */
type Fields<Message> = { readonly [Name in keyof Message]: DependentField<Message[Name], Message> };

interface Kinded {
  readonly kind: string;
}

type OfKind<Message extends Kinded, Kind> = Extract<Message, { readonly kind: Kind }>;

/** Messages of several kinds: each is a tag of one byte, and its fields. */
export interface Kinds<Message extends Kinded> {
  write(writer: ByteWriter, message: Message): void;
  /** Undefined, with `failed`, for bytes that are no message. */
  read(reader: ByteReader): Message | undefined;
  /** The messages of one kind, without the tag. */
  of<Kind extends Message['kind']>(kind: Kind): Field<OfKind<Message, Kind>>;
}

/** The tag and the fields of each kind; a new kind does not compile without them. */
type Layouts<Message extends Kinded> = {
  readonly [Kind in Message['kind']]: readonly [tag: number, fields: Fields<Omit<OfKind<Message, Kind>, 'kind'>>];
};

type AnyMessage = Record<string, unknown>;
type AnyFields = Readonly<Record<string, DependentField<unknown, AnyMessage>>>;

export function fieldsOf<Message extends object>(fields: Fields<Message>): Field<Message>;
export function fieldsOf(fields: AnyFields): Field<AnyMessage> {
  return inOrder(fields, {});
}

export function kindsOf<Message extends Kinded>(layouts: Layouts<Message>): Kinds<Message>;
export function kindsOf(layouts: Readonly<Record<string, readonly [number, AnyFields]>>): {
  write(writer: ByteWriter, message: Kinded & AnyMessage): void;
  read(reader: ByteReader): AnyMessage | undefined;
  of(kind: string): Field<AnyMessage> | undefined;
} {
  const byKind = new Map<string, { readonly tag: number; readonly fields: Field<AnyMessage> }>();
  const byTag: Field<AnyMessage>[] = [];
  for (const [kind, [tag, parts]] of Object.entries(layouts)) {
    const fields = inOrder(parts, { kind });
    byKind.set(kind, { tag, fields });
    byTag[tag] = fields;
  }
  return {
    write: (writer, message) => {
      const layout = byKind.get(message.kind);
      writer.u8(layout?.tag ?? 0);
      layout?.fields.write(writer, message);
    },
    read: (reader) => {
      const fields = byTag[reader.u8()];
      if (fields === undefined) fail(reader);
      const message = fields?.read(reader);
      return reader.failed ? undefined : message;
    },
    of: (kind) => byKind.get(kind)?.fields,
  };
}

function inOrder(fields: AnyFields, start: AnyMessage): Field<AnyMessage> {
  const parts = Object.entries(fields).map(([name, field]) => ({ name, field }));
  return {
    write: (writer, message) => {
      for (const { name, field } of parts) field.write(writer, message[name], message);
    },
    read: (reader) => {
      const message = { ...start };
      for (const { name, field } of parts) message[name] = field.read(reader, message);
      return message;
    },
  };
}

/** Sets `failed`: the bytes are not a valid message. */
export function fail(reader: ByteReader): void {
  reader.skip(reader.left + 1);
}

export const VARINT: Field<number> = {
  write: (writer, value) => writer.varint(value),
  read: (reader) => reader.varint(),
};

export const FLAG: Field<boolean> = {
  write: (writer, flag) => writer.u8(flag ? 1 : 0),
  read: (reader) => {
    const value = reader.u8();
    if (value > 1) fail(reader);
    return value === 1;
  },
};

/** The length in bytes, and UTF-8. */
export const TEXT: Field<string> = {
  write: (writer, text) => BYTES.write(writer, encodeUtf8(text)),
  read: (reader) => reader.utf8(reader.varint()),
};

/** The length, and the bytes. They are copied out of the frame, which may be shared. */
export const BYTES: Field<Uint8Array> = {
  write: (writer, bytes) => {
    writer.varint(bytes.length);
    writer.bytes(bytes);
  },
  read: (reader) => reader.bytes(reader.varint()).slice(),
};

/** Everything to the end, as a view of the frame. */
export const REST: Field<Uint8Array> = {
  write: (writer, bytes) => writer.bytes(bytes),
  read: (reader) => reader.bytes(reader.left),
};

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

/** The position of the value among these, in one byte. */
export function oneOf<Value>(first: Value, ...others: readonly Value[]): Field<Value> {
  const values = [first, ...others];
  return {
    write: (writer, value) => writer.u8(values.indexOf(value)),
    read: (reader) => {
      const at = reader.u8();
      if (at >= values.length) fail(reader);
      return values[at] ?? first;
    },
  };
}

/** A number of some kind; with `failed`, `any`. */
function numberOf<Value extends number>(isValid: (value: number) => value is Value, any: Value): Field<Value> {
  return {
    write: (writer, value) => writer.varint(value),
    read: (reader) => {
      const value = reader.varint();
      if (isValid(value)) return value;
      fail(reader);
      return any;
    },
  };
}

/** A message with a higher term is malformed. */
const TERM_MAX = 2 ** 52;

/** No group has had so many elections, and a replica at such a term would soon have no next one to campaign in. */
export function isReachable(term: number): term is Term {
  return isTerm(term) && term <= TERM_MAX;
}

export const INDEX: Field<LogIndex> = numberOf(isLogIndex, toLogIndex(0));
export const TERM: Field<Term> = numberOf(isReachable, toTerm(0));
export const GROUP: Field<GroupId> = numberOf(isGroupId, CATALOG_GROUP);
export const REPLICA: Field<ReplicaId> = numberOf(isReplicaOnNode, toReplicaId(1));
/** Written out, because most messages have one. */
export const ENTRY_ID: Field<EntryId> = {
  write: (writer, { index, term }) => {
    writer.varint(index);
    writer.varint(term);
  },
  read: (reader) => ({ index: INDEX.read(reader), term: TERM.read(reader) }),
};

function isReplicaOnNode(value: number): value is ReplicaId {
  return isReplicaId(value) && hasNode(value);
}

/** The length, and the membership. */
export const MEMBERSHIP: Field<Membership> = {
  write: (writer, membership) => BYTES.write(writer, encodeMembership(membership)),
  read: (reader) => membershipIn(reader, reader.bytes(reader.varint())),
};

/** A membership whose members are all on valid nodes; an empty one with `failed`. */
export function membershipIn(reader: ByteReader, bytes: Uint8Array): Membership {
  const membership = decodeMembership(bytes);
  if (typeof membership !== 'string' && everybody(membership).every(hasNode)) return membership;
  fail(reader);
  return { voters: { incoming: [], outgoing: [] }, learners: [], learnersNext: [] };
}
