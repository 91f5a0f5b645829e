/**
 * The encoding of a membership in the log, next to the applied index, and in messages.
 *
 * ```
 * membership := members(incoming voters) members(outgoing voters) members(learners) members(learners next)
 * members    := varint count, (varint replica)*
 * ```
 * An encoded membership decodes to itself; invalid bytes are refused with the reason.
 */
import { ByteReader, ByteWriter, fieldsOf, isReplicaId, listOf, VARINT, valid } from '#base';
import { fault, type Membership } from './membership.ts';

const MEMBERS = listOf(valid(VARINT, isReplicaId));

const MEMBERSHIP = fieldsOf<Membership>({
  voters: fieldsOf<Membership['voters']>({ incoming: MEMBERS, outgoing: MEMBERS }),
  learners: MEMBERS,
  learnersNext: MEMBERS,
});

export function encodeMembership(membership: Membership): Uint8Array {
  const bytes = new ByteWriter(32);
  MEMBERSHIP.write(bytes, membership);
  return bytes.take();
}

/** Returns the membership, or a text with the reason why the bytes are invalid. */
export function decodeMembership(bytes: Uint8Array): Membership | string {
  const reader = new ByteReader(bytes);
  const membership = MEMBERSHIP.read(reader);
  if (reader.failed || reader.left > 0) return `${bytes.length} bytes that are not four lists of replicas`;
  return fault(membership) ?? membership;
}
