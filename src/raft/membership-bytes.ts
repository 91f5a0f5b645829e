/**
 * The encoding of a membership in the log, next to the applied index, and in messages.
 *
 * ```
 * membership := members(incoming voters) members(outgoing voters) members(learners) members(learners next)
 * members    := varint count, (varint replica)*
 * ```
 * An encoded membership decodes to itself; invalid bytes are refused with the reason.
 */
import { ByteReader, ByteWriter, isReplicaId, type ReplicaId } from '#base';
import { fault, type Membership } from './membership.ts';

export function encodeMembership({ voters, learners, learnersNext }: Membership): Uint8Array {
  const bytes = new ByteWriter(32);
  for (const members of [voters.incoming, voters.outgoing, learners, learnersNext]) {
    bytes.varint(members.length);
    for (const member of members) bytes.varint(member);
  }
  return bytes.take();
}

/** Returns the membership, or a text with the reason why the bytes are invalid. */
export function decodeMembership(bytes: Uint8Array): Membership | string {
  const reader = new ByteReader(bytes);
  const incoming = readMembers(reader);
  const outgoing = readMembers(reader);
  const learners = readMembers(reader);
  const learnersNext = readMembers(reader);
  if (reader.failed || reader.left > 0) return `${bytes.length} bytes that are not four lists of replicas`;
  const membership: Membership = { voters: { incoming, outgoing }, learners, learnersNext };
  return fault(membership) ?? membership;
}

/** The count is limited by the number of bytes: each member takes at least one. */
function readMembers(reader: ByteReader): readonly ReplicaId[] {
  const count = reader.varint();
  const members: ReplicaId[] = [];
  while (members.length < count && !reader.failed) {
    const member = reader.varint();
    if (isReplicaId(member)) members.push(member);
    else reader.skip(reader.left + 1);
  }
  return members;
}
