/**
 * Encodes one Raft message, with its sending and receiving replica.
 *
 * ```
 * route     := varint group, varint copy on the node that sends, varint copy on the node that it is for
 * message   := u8 tag, fields of its kind in the order of the table below
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
  copyOf,
  type DependentField,
  FLAG,
  fail,
  fieldsOf,
  type GroupId,
  isCopy,
  isLogIndex,
  type Kinds,
  kindsOf,
  NO_BYTES,
  type NodeId,
  nodeOf,
  optional,
  type ReplicaId,
  replicaOf,
  type Term,
  toLogIndex,
  VARINT,
} from '#base';
import { type Entry, type EntryId, encodeMembership, type Message } from '#raft';
import { ENTRY_ID, GROUP, INDEX, isReachable, MEMBERSHIP, membershipIn, TERM } from './fields.ts';

/** Maximum number of entries in one append; payloads of 256 KiB in all cannot contain more. */
const ENTRIES_MAX = 2 ** 18 + 2 ** 10;

const ENTRIES: DependentField<readonly Entry[], { readonly term: Term; readonly previous: EntryId }> = {
  write: (writer, entries, { previous }) => writeEntries(writer, previous, entries),
  read: (reader, { term, previous }) => readEntries(reader, previous, term),
};

export const MESSAGES: Kinds<Message> = kindsOf<Message>({
  'pre-vote-request': [1, { term: TERM, last: ENTRY_ID, commit: ENTRY_ID }],
  'pre-vote-reply': [2, { term: TERM, isGranted: FLAG, commit: ENTRY_ID }],
  'vote-request': [3, { term: TERM, last: ENTRY_ID, commit: ENTRY_ID, isTransfer: FLAG }],
  'vote-reply': [4, { term: TERM, isGranted: FLAG, commit: ENTRY_ID }],
  append: [5, { term: TERM, previous: ENTRY_ID, commit: INDEX, entries: ENTRIES }],
  'append-ack': [6, { term: TERM, match: INDEX }],
  'append-reject': [7, { term: TERM, rejected: INDEX, hint: ENTRY_ID }],
  commit: [8, { term: TERM, commit: INDEX }],
  beat: [9, { term: TERM, commit: INDEX, round: VARINT }],
  'beat-ack': [10, { term: TERM, round: VARINT }],
  'read-request': [11, { term: TERM, id: VARINT }],
  'read-reply': [12, { term: TERM, id: VARINT, index: optional(INDEX) }],
  'timeout-now': [13, { term: TERM }],
  'install-snapshot': [14, { term: TERM, snapshot: fieldsOf({ last: ENTRY_ID, membership: MEMBERSHIP }) }],
  'term-notice': [15, { term: TERM }],
});

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
  return { group: GROUP.read(reader), from: readReplica(reader, ends.from), to: readReplica(reader, ends.to) };
}

function readReplica(reader: ByteReader, node: NodeId): ReplicaId {
  const copy = reader.varint();
  if (isCopy(copy)) return replicaOf(node, copy);
  fail(reader);
  return replicaOf(node);
}
