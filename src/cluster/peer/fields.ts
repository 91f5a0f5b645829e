/** Fields of messages between nodes. With `reader.failed` a value is meaningless. */
import {
  BYTES,
  type ByteReader,
  CATALOG_GROUP,
  type Field,
  fail,
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

/** A number of some kind; with `failed`, `any`. */
function numberOf<Value extends number>(isValid: (value: number) => value is Value, any: Value): Field<Value> {
  return {
    write: (writer, value) => writer.varint(value),
    read: (reader) => {
      const value = reader.varint();
      return isValid(value) ? value : fail(reader, any);
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
  return fail(reader, { voters: { incoming: [], outgoing: [] }, learners: [], learnersNext: [] });
}
