/**
 * Encodes one Raft message, with its sending and receiving replica.
 *
 * ```
 * route     := varint group, varint copy on the node that sends, varint copy on the node that it is for
 * message   := u8 tag, varint term, fields of its kind in the order of the table below
 * entry id  := varint index, varint term
 * entries   := varint count, head*, payload*
 * head      := varint (4 * length + 2 * T + M), varint rise of the term if T
 * ```
 * The entries of an append are consecutive from the entry after `previous` on, and their terms do not fall (R3), so an
 * index or term that follows from them is not written. A payload with M is a membership.
 *
 * Reading any bytes ends and never throws. With `reader.failed` the result is meaningless; otherwise it is a message
 * that a replica could have sent.
 */
import {
  assert,
  type ByteReader,
  type ByteWriter,
  CATALOG_GROUP,
  copyOf,
  type GroupId,
  hasNode,
  isCopy,
  isGroupId,
  isLogIndex,
  isTerm,
  type LogIndex,
  NO_BYTES,
  type NodeId,
  nodeOf,
  type ReplicaId,
  replicaOf,
  type Term,
  toLogIndex,
  toTerm,
} from '#base';
import {
  decodeMembership,
  type Entry,
  type EntryId,
  encodeMembership,
  everybody,
  type Membership,
  type Message,
} from '#raft';

/** Maximum number of entries in one append; payloads of 256 KiB in all cannot contain more. */
const ENTRIES_MAX = 2 ** 18 + 2 ** 10;

/** A message with a higher term is malformed. */
const TERM_MAX = 2 ** 52;

type Kind = Message['kind'];
type MessageOf<K extends Kind> = Extract<Message, { readonly kind: K }>;

/** Writes and reads the fields that follow kind and term. */
interface Fields<M extends Message> {
  readonly tag: number;
  write(writer: ByteWriter, message: M): void;
  /** Sets `reader.failed` for impossible values. */
  read(reader: ByteReader, term: Term): M;
}

const NO_INDEX = toLogIndex(0);
const NO_TERM = toTerm(0);

/** Total: a new kind of message does not compile without its encoding. */
const FIELDS: { readonly [K in Kind]: Fields<MessageOf<K>> } = {
  'pre-vote-request': {
    tag: 1,
    write: (writer, { last, commit }) => {
      writeId(writer, last);
      writeId(writer, commit);
    },
    read: (reader, term) => ({ kind: 'pre-vote-request', term, last: readId(reader), commit: readId(reader) }),
  },
  'pre-vote-reply': {
    tag: 2,
    write: (writer, { isGranted, commit }) => {
      writeFlag(writer, isGranted);
      writeId(writer, commit);
    },
    read: (reader, term) => ({ kind: 'pre-vote-reply', term, isGranted: readFlag(reader), commit: readId(reader) }),
  },
  'vote-request': {
    tag: 3,
    write: (writer, { last, commit, isTransfer }) => {
      writeId(writer, last);
      writeId(writer, commit);
      writeFlag(writer, isTransfer);
    },
    read: (reader, term) => ({
      kind: 'vote-request',
      term,
      last: readId(reader),
      commit: readId(reader),
      isTransfer: readFlag(reader),
    }),
  },
  'vote-reply': {
    tag: 4,
    write: (writer, { isGranted, commit }) => {
      writeFlag(writer, isGranted);
      writeId(writer, commit);
    },
    read: (reader, term) => ({ kind: 'vote-reply', term, isGranted: readFlag(reader), commit: readId(reader) }),
  },
  append: {
    tag: 5,
    write: (writer, { previous, commit, entries }) => {
      writeId(writer, previous);
      writer.varint(commit);
      writeEntries(writer, previous, entries);
    },
    read: (reader, term) => {
      const previous = readId(reader);
      const commit = readIndex(reader);
      return { kind: 'append', term, previous, entries: readEntries(reader, previous, term), commit };
    },
  },
  'append-ack': {
    tag: 6,
    write: (writer, { match }) => writer.varint(match),
    read: (reader, term) => ({ kind: 'append-ack', term, match: readIndex(reader) }),
  },
  'append-reject': {
    tag: 7,
    write: (writer, { rejected, hint }) => {
      writer.varint(rejected);
      writeId(writer, hint);
    },
    read: (reader, term) => ({ kind: 'append-reject', term, rejected: readIndex(reader), hint: readId(reader) }),
  },
  commit: {
    tag: 8,
    write: (writer, { commit }) => writer.varint(commit),
    read: (reader, term) => ({ kind: 'commit', term, commit: readIndex(reader) }),
  },
  beat: {
    tag: 9,
    write: (writer, { commit, round }) => {
      writer.varint(commit);
      writer.varint(round);
    },
    read: (reader, term) => ({ kind: 'beat', term, commit: readIndex(reader), round: reader.varint() }),
  },
  'beat-ack': {
    tag: 10,
    write: (writer, { round }) => writer.varint(round),
    read: (reader, term) => ({ kind: 'beat-ack', term, round: reader.varint() }),
  },
  'read-request': {
    tag: 11,
    write: (writer, { id }) => writer.varint(id),
    read: (reader, term) => ({ kind: 'read-request', term, id: reader.varint() }),
  },
  'read-reply': {
    tag: 12,
    write: (writer, { id, index }) => {
      writer.varint(id);
      writeFlag(writer, index !== undefined);
      if (index !== undefined) writer.varint(index);
    },
    read: (reader, term) => ({
      kind: 'read-reply',
      term,
      id: reader.varint(),
      index: readFlag(reader) ? readIndex(reader) : undefined,
    }),
  },
  'timeout-now': { tag: 13, write: () => undefined, read: (_, term) => ({ kind: 'timeout-now', term }) },
  'install-snapshot': {
    tag: 14,
    write: (writer, { snapshot }) => {
      writeId(writer, snapshot.last);
      const membership = encodeMembership(snapshot.membership);
      writer.varint(membership.length);
      writer.bytes(membership);
    },
    read: (reader, term) => {
      const last = readId(reader);
      return {
        kind: 'install-snapshot',
        term,
        snapshot: { last, membership: membershipIn(reader, reader.bytes(reader.varint())) },
      };
    },
  },
  'term-notice': { tag: 15, write: () => undefined, read: (_, term) => ({ kind: 'term-notice', term }) },
};

const BY_TAG: readonly (Fields<Message> | undefined)[] = tagged();

export function writeMessage(writer: ByteWriter, message: Message): void {
  const fields: Fields<Message> = fieldsOf(message.kind);
  writer.u8(fields.tag);
  writer.varint(message.term);
  fields.write(writer, message);
}

/** The message, or undefined with `reader.failed`. */
export function readMessage(reader: ByteReader): Message | undefined {
  const fields = BY_TAG[reader.u8()];
  const term = readTerm(reader);
  if (fields === undefined) fail(reader);
  const message = fields?.read(reader, term);
  return reader.failed ? undefined : message;
}

/** Sets `failed`: the bytes are not a valid message. */
export function fail(reader: ByteReader): void {
  reader.skip(reader.left + 1);
}

function fieldsOf(kind: Kind): Fields<Message> {
  // Each row of the table only receives messages of its own kind.
  return FIELDS[kind];
}

function tagged(): readonly (Fields<Message> | undefined)[] {
  const rows: (Fields<Message> | undefined)[] = [];
  for (const fields of Object.values(FIELDS)) rows[fields.tag] = fields;
  return rows;
}

function writeEntries(writer: ByteWriter, previous: EntryId, entries: readonly Entry[]): void {
  assert(entries.length <= ENTRIES_MAX, 'So many entries fit into an append', entries.length);
  writer.varint(entries.length);
  let { index, term } = previous;
  const payloads: Uint8Array[] = [];
  for (const entry of entries) {
    assert(entry.index === index + 1 && entry.term >= term, 'R3: entries continue what is before them', entry.index);
    const payload = entry.membership === undefined ? entry.payload : encodeMembership(entry.membership);
    const rise = entry.term - term;
    writer.varint(4 * payload.length + (rise > 0 ? 2 : 0) + (entry.membership === undefined ? 0 : 1));
    if (rise > 0) writer.varint(rise);
    payloads.push(payload);
    ({ index, term } = entry);
  }
  for (const payload of payloads) writer.slice(payload, 0, payload.length);
}

interface Head {
  readonly term: Term;
  readonly length: number;
  readonly hasMembership: boolean;
}

function readEntries(reader: ByteReader, previous: EntryId, term: Term): readonly Entry[] {
  const count = reader.varint();
  if (count > ENTRIES_MAX || !isLogIndex(previous.index + count)) fail(reader);
  const heads: Head[] = [];
  let bytes = 0;
  let last = previous.term;
  while (heads.length < count && !reader.failed) {
    const head = readHead(reader, last);
    heads.push(head);
    bytes += head.length;
    last = head.term;
  }
  // A leader's log has no entry of a later term than its own.
  if (count > 0 && last > term) fail(reader);
  const payloads = ownBytes(reader, bytes);
  const entries: Entry[] = [];
  let at = 0;
  for (const head of heads) {
    const index = toLogIndex(previous.index + entries.length + 1);
    const payload = payloads.subarray(at, at + head.length);
    at += head.length;
    entries.push(entryOf(reader, { index, term: head.term }, payload, head.hasMembership));
    if (reader.failed) break;
  }
  return entries;
}

function readHead(reader: ByteReader, before: Term): Head {
  const bits = reader.varint();
  const flags = bits % 4;
  const risen = before + (flags >= 2 ? reader.varint() : 0);
  if (!isReachable(risen)) fail(reader);
  return { term: isReachable(risen) ? risen : before, length: (bits - flags) / 4, hasMembership: flags % 2 === 1 };
}

function entryOf(reader: ByteReader, id: EntryId, payload: Uint8Array, hasMembership: boolean): Entry {
  const { index, term } = id;
  if (!hasMembership) return { index, term, payload };
  return { index, term, payload: NO_BYTES, membership: membershipIn(reader, payload) };
}

/**
 * Copies the payloads of one append into an array of their own: entries stay in memory until they are applied, and a
 * small one must not keep a whole frame there.
 */
function ownBytes(reader: ByteReader, count: number): Uint8Array {
  const found = reader.bytes(count);
  return 2 * count >= reader.source.length ? found : new Uint8Array(found);
}

/** A membership whose members are all on valid nodes; an empty one with `failed`. */
export function membershipIn(reader: ByteReader, bytes: Uint8Array): Membership {
  const membership = decodeMembership(bytes);
  if (typeof membership !== 'string' && everybody(membership).every(hasNode)) return membership;
  fail(reader);
  return NO_MEMBERS;
}

/** Placeholder for an invalid membership, with `failed`. */
const NO_MEMBERS: Membership = { voters: { incoming: [], outgoing: [] }, learners: [], learnersNext: [] };

export function writeId(writer: ByteWriter, { index, term }: EntryId): void {
  writer.varint(index);
  writer.varint(term);
}

export function readId(reader: ByteReader): EntryId {
  return { index: readIndex(reader), term: readTerm(reader) };
}

export function readIndex(reader: ByteReader): LogIndex {
  const value = reader.varint();
  return isLogIndex(value) ? value : NO_INDEX;
}

export function readTerm(reader: ByteReader): Term {
  const value = reader.varint();
  if (isReachable(value)) return value;
  fail(reader);
  return NO_TERM;
}

/** No group has had so many elections, and a replica at such a term would soon have no next one to campaign in. */
function isReachable(term: number): term is Term {
  return isTerm(term) && term <= TERM_MAX;
}

/** The two nodes of a frame: every message goes from a replica on one to a replica on the other. */
export interface Ends {
  readonly from: NodeId;
  readonly to: NodeId;
}

/** Group, and sending and receiving replica. */
export interface Route {
  readonly group: GroupId;
  readonly from: ReplicaId;
  readonly to: ReplicaId;
}

export function writeRoute(writer: ByteWriter, { group, from, to }: Route, ends: Ends): void {
  assert(nodeOf(from) === ends.from && nodeOf(to) === ends.to, 'A frame is between the replicas of its nodes', from);
  writer.varint(group);
  writer.varint(copyOf(from));
  writer.varint(copyOf(to));
}

/** With `failed`, any. */
export function readRoute(reader: ByteReader, ends: Ends): Route {
  return { group: readGroup(reader), from: readReplica(reader, ends.from), to: readReplica(reader, ends.to) };
}

function readReplica(reader: ByteReader, node: NodeId): ReplicaId {
  const copy = reader.varint();
  if (isCopy(copy)) return replicaOf(node, copy);
  fail(reader);
  return replicaOf(node);
}

/** A group; with `failed`, any. */
export function readGroup(reader: ByteReader): GroupId {
  const group = reader.varint();
  if (isGroupId(group)) return group;
  fail(reader);
  return CATALOG_GROUP;
}

export function writeFlag(writer: ByteWriter, flag: boolean): void {
  writer.u8(flag ? 1 : 0);
}

export function readFlag(reader: ByteReader): boolean {
  const value = reader.u8();
  if (value > 1) fail(reader);
  return value === 1;
}
