/**
 * What is in the way of recovering a database from one of its copies (ADR 0045), and what to do instead: pure functions
 * of what the catalog and those copies say that answer.
 *
 * ```
 *   recover NAME from NODE, at no revision   -> refused, with what the node holds and what to ask for
 *   recover NAME from NODE, at its revision  -> NAME means another instance, which goes on with what the node holds
 * ```
 *
 *   C25  A database is recovered only if no copy that answers knows a leader, and those that answer could elect none;
 *        from the one among them whose log goes the furthest; and at the revision that it holds, which was named.
 */
import { type DatabaseId, type GroupId, type NodeId, nodeOf, type ReplicaId, type Revision, toHex } from '#base';
import { type EntryId, lastId, tally, type VoterSet } from '#raft';
import type { Group } from '../group/group.ts';
import type { OrderFault } from '../orders/decommission.ts';
import type { Binding } from '../outcome.ts';

export interface RecoveryOrder {
  readonly kind: 'recover';
  /** The database. */
  readonly name: string;
  /** The node whose copy it is to go on with. */
  readonly from: NodeId;
  /** What that copy holds, as whoever asks knows it; undefined: he asks what would be. */
  readonly acceptRevision: number | undefined;
}

/** What a node says of its copy of a database. */
export interface HeldCopy {
  readonly replica: ReplicaId;
  readonly group: GroupId;
  /** Of its state. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
  /** The last entry of its log, and how many stand behind what the state includes. */
  readonly last: EntryId;
  readonly unapplied: number;
  /** As of its log. */
  readonly voters: VoterSet;
  /** Who leads, as far as it knows. */
  readonly leader: NodeId | undefined;
}

/** The order, with what was heard just now: of each node that answers and holds a copy. */
export interface AskedRecovery extends RecoveryOrder {
  readonly copies: readonly HeldCopy[];
}

/** What a database was recovered as. */
export interface RecoveredDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  /** The instance that had the name before. */
  readonly before: DatabaseId;
  readonly node: NodeId;
  /** What the node held when that was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

/** What a node says of its copy, whose state in the store is this. */
export function heldCopy(
  { id, self, raft, written, leader, isAlone }: Group,
  { revision, chainHash }: Pick<HeldCopy, 'revision' | 'chainHash'>,
): HeldCopy {
  const logged = lastId(raft.log);
  const last = logged.index < written.index ? { index: written.index, term: written.term } : logged;
  const { voters } = (raft.changes.at(-1) ?? raft).membership;
  const led = isAlone ? self : leader;
  return {
    replica: self,
    group: id,
    revision,
    chainHash,
    last: { index: last.index, term: last.term },
    unapplied: last.index - written.index,
    voters,
    leader: led && nodeOf(led),
  };
}

/** What has become of the order, if the catalog says that it was carried out; `binding` is what has the name. */
export function recoveredBy(binding: Binding | undefined, order: AskedRecovery): RecoveredDatabase | undefined {
  const { recovery, founders, placement } = binding ?? {};
  const node = founders?.[0] === undefined ? undefined : nodeOf(founders[0]);
  if (binding === undefined || recovery === undefined || node !== order.from) return undefined;
  const { revision, chainHash, databaseId: before } = recovery;
  // As long as it has its first copy alone, it cannot have been lost once more; later, only if nobody leads it.
  const isStill = placement === 0 || order.copies.some(({ leader }) => leader !== undefined);
  const isOwn = chosenOf(order)?.group === recovery.group;
  if (revision !== order.acceptRevision || !(isStill || isOwn)) return undefined;
  return { name: binding.name, databaseId: binding.databaseId, before, node, revision, chainHash };
}

/** The copy that the order names, if it answered. */
export function chosenOf({ from, copies }: Pick<AskedRecovery, 'from' | 'copies'>): HeldCopy | undefined {
  return copies.find(({ replica }) => nodeOf(replica) === from);
}

/** Why the order cannot be carried out, or undefined. */
export function faultInRecovery(binding: Binding | undefined, order: AskedRecovery): OrderFault | undefined {
  const { name, from } = order;
  if (binding === undefined) return { code: 'not_found', reason: `there is no database ${name}` };
  const holders = binding.replicas.map(nodeOf);
  if (!holders.includes(from)) {
    return failed(`node ${from} holds no copy of ${name}; ${named(holders)} ${holders.length > 1 ? 'do' : 'does'}`);
  }
  const copies = order.copies.filter(({ group }) => group === binding.group);
  const led = copies.find(({ leader }) => leader !== undefined)?.leader;
  if (led !== undefined) return failed(`${name} has a leader, node ${led}: there is nothing to recover`);
  const chosen = chosenOf({ from, copies });
  if (chosen === undefined) {
    const others = copies.map(({ replica }) => nodeOf(replica));
    const instead = others.length === 0 ? 'nor does any other that holds one' : `${named(others)} would`;
    return failed(`node ${from} does not answer with a copy of ${name}; ${instead}`);
  }
  const further = copies.find((copy) => isFurther(copy.last, chosen.last));
  if (further !== undefined) return more(order, chosen, further);
  const up = new Set(copies.map(({ replica }) => replica));
  if (tally(chosen.voters, (replica) => (up.has(replica) ? true : undefined)) === 'won') {
    return failed(
      `most of the copies of ${name} answer (${named([...up].map(nodeOf))}), so that they can elect a leader: there is nothing to recover`,
    );
  }
  return order.acceptRevision === chosen.revision ? undefined : unaccepted(order, chosen, holders);
}

/** As a voter compares logs before it gives its vote away (R8). */
function isFurther(one: EntryId, other: EntryId): boolean {
  return one.term > other.term || (one.term === other.term && one.index > other.index);
}

function more({ name, from }: AskedRecovery, chosen: HeldCopy, further: HeldCopy): OrderFault {
  const node = nodeOf(further.replica);
  return failed(
    `node ${node} has more of ${name} than node ${from}: its log ends with entry ${further.last.index} of term ${further.last.term}, that of node ${from} with entry ${chosen.last.index} of term ${chosen.last.term}; ask for --from ${node}`,
  );
}

/** Describes what the operator would accept. */
function unaccepted(order: AskedRecovery, chosen: HeldCopy, holders: readonly NodeId[]): OrderFault {
  const { name, from, acceptRevision, copies } = order;
  const { revision, chainHash, unapplied } = chosen;
  const heard = new Set(copies.map(({ replica }) => nodeOf(replica)));
  const missing = holders.filter((node) => !heard.has(node));
  const lines = [
    acceptRevision === undefined
      ? `nothing was recovered. Node ${from} has revision ${revision} of ${name}, chain hash ${toHex(chainHash)}.`
      : `node ${from} has revision ${revision} of ${name}, chain hash ${toHex(chainHash)}, and not revision ${acceptRevision}.`,
    ...(unapplied === 0
      ? []
      : [`Its log has ${unapplied} more entries, which may have been acknowledged: they are kept.`]),
    ...(missing.length === 0 ? [] : [`No answer from ${named(missing)}. Data that only they have is lost for good.`]),
    `To continue with the data of node ${from}: cairn cluster recover ${name} --from ${from} --accept-revision ${revision}`,
  ];
  return failed(lines.join('\n'));
}

function named(nodes: readonly NodeId[]): string {
  return `node${nodes.length > 1 ? 's' : ''} ${nodes.toSorted((one, other) => one - other).join(', ')}`;
}

function failed(reason: string): OrderFault {
  return { code: 'failed_precondition', reason };
}
