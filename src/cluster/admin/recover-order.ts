/**
 * Rules for recovering a database from one of its replicas (ADR 0045): pure functions of the catalog and of the
 * replicas that answer.
 *
 * ```
 *   recover NAME from NODE, at no revision   -> refused, with the revision of the node and the command to use
 *   recover NAME from NODE, at its revision  -> NAME means another instance, which continues with the data of the node
 * ```
 *
 *   C25  A database is recovered only if no answering voter knows a leader, and the answering replicas could elect
 *        none; from the one with the most advanced log; and at its current revision, which the request must name.
 */
import { type DatabaseId, type GroupId, type NodeId, nodeOf, type ReplicaId, type Revision, toHex } from '#base';
import { type EntryId, isVoter, lastId, type VoterSet, voteResult } from '#raft';
import type { Passed } from '../catalog/catalog-requests.ts';
import type { Group } from '../group/group.ts';
import type { Binding } from '../outcome.ts';
import { failed, type OrderFault } from './decommission.ts';

export interface RecoveryOrder {
  readonly kind: 'recover';
  /** Name of the database. */
  readonly name: string;
  /** Node with the replica to recover from. */
  readonly from: NodeId;
  /** The accepted revision of that replica; undefined: the request only asks what would be recovered. */
  readonly acceptRevision: number | undefined;
}

/** A node's report of its replica. */
export interface HeldCopy {
  readonly replica: ReplicaId;
  readonly group: GroupId;
  /** Revision of its state. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
  /** The last entry of its log, and the number of entries after the state. */
  readonly last: EntryId;
  readonly unapplied: number;
  /** Voters according to its log. */
  readonly voters: VoterSet;
  /** The leader, as far as a voter knows. A learner has no election timeout: it may name one that leads no more. */
  readonly leader: NodeId | undefined;
}

/** The request, with the current reports of all answering nodes with a replica. */
export interface AskedRecovery extends RecoveryOrder {
  readonly copies: readonly HeldCopy[];
}

/** Result of a recovery. */
export interface RecoveredDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  /** The instance that had the name before. */
  readonly before: DatabaseId;
  readonly node: NodeId;
  /** Revision of the replica when that was decided. */
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

export type Recovered =
  | { readonly kind: 'recovered'; readonly database: RecoveredDatabase }
  | ({ readonly kind: 'faulty' } & OrderFault);

export type RecoveryAnswer = Recovered | Passed;

/** Describes a replica with this state in the store. */
export function heldCopy(
  { id, self, raft, written, leader, isAlone }: Group,
  { revision, chainHash }: Pick<HeldCopy, 'revision' | 'chainHash'>,
): HeldCopy {
  const logged = lastId(raft.log);
  const last = logged.index < written.index ? { index: written.index, term: written.term } : logged;
  const { voters } = (raft.changes.at(-1) ?? raft).membership;
  const known = isVoter(voters, self) ? leader : undefined;
  const led = isAlone ? self : known;
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

/** The result, if the catalog shows that the request was carried out; `binding` is the current one of the name. */
export function recoveredBy(binding: Binding | undefined, order: AskedRecovery): RecoveredDatabase | undefined {
  const { recovery, founders, placement } = binding ?? {};
  const node = founders?.[0] === undefined ? undefined : nodeOf(founders[0]);
  if (binding === undefined || recovery === undefined || node !== order.from) return undefined;
  const { revision, chainHash, databaseId: before } = recovery;
  // While it has its first placement, it cannot have lost its quorum again; later, only if no replica knows a leader.
  const isStill = placement === 0 || order.copies.some(({ leader }) => leader !== undefined);
  const isOwn = chosenOf(order)?.group === recovery.group;
  if (revision !== order.acceptRevision || !(isStill || isOwn)) return undefined;
  return { name: binding.name, databaseId: binding.databaseId, before, node, revision, chainHash };
}

/** The replica named by the request, if it has answered. */
export function chosenOf({ from, copies }: Pick<AskedRecovery, 'from' | 'copies'>): HeldCopy | undefined {
  return copies.find(({ replica }) => nodeOf(replica) === from);
}

/** Reason to refuse the request, or undefined. */
export function faultInRecovery(binding: Binding | undefined, order: AskedRecovery): OrderFault | undefined {
  const { name, from } = order;
  if (binding === undefined) return { code: 'not_found', reason: `there is no database ${name}` };
  const holders = binding.replicas.map(nodeOf);
  if (!holders.includes(from)) {
    const have = holders.length > 1 ? 'have' : 'has';
    return failed(`node ${from} has no replica of ${name} that votes; ${named(holders)} ${have} one`);
  }
  const known = order.copies.filter(({ group }) => group === binding.group);
  const led = known.find(({ leader }) => leader !== undefined)?.leader;
  if (led !== undefined) return failed(`${name} has a leader, node ${led}: there is nothing to recover`);
  // A learner cannot continue a database, because it cannot vote.
  const copies = known.filter(({ replica }) => holders.includes(nodeOf(replica)));
  const chosen = chosenOf({ from, copies });
  if (chosen === undefined) {
    const others = copies.map(({ replica }) => nodeOf(replica));
    const instead = others.length === 0 ? 'nor does any other that holds one' : `${named(others)} would`;
    return failed(`node ${from} does not answer with a replica of ${name}; ${instead}`);
  }
  const further = copies.find((copy) => isFurther(copy.last, chosen.last));
  if (further !== undefined) return more(order, chosen, further);
  const up = new Set(copies.map(({ replica }) => replica));
  if (voteResult(chosen.voters, (replica) => (up.has(replica) ? true : undefined)) === 'won') {
    return failed(
      `most replicas of ${name} answer (${named([...up].map(nodeOf))}), so they can elect a leader: there is nothing to recover`,
    );
  }
  return order.acceptRevision === chosen.revision ? undefined : unaccepted(order, chosen, holders);
}

/** Compares logs like a voter does (R8). */
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
  const learners = copies.filter(({ replica, group, last }) => {
    return !holders.includes(nodeOf(replica)) && group === chosen.group && isFurther(last, chosen.last);
  });
  const lines = [
    acceptRevision === undefined
      ? `nothing was recovered. Node ${from} has revision ${revision} of ${name}, chain hash ${toHex(chainHash)}.`
      : `node ${from} has revision ${revision} of ${name}, chain hash ${toHex(chainHash)}, and not revision ${acceptRevision}.`,
    ...(unapplied === 0
      ? []
      : [`Its log has ${unapplied} more entries, which may have been acknowledged: they are kept.`]),
    ...(missing.length === 0 ? [] : [`No answer from ${named(missing)}. Data that only they have is lost for good.`]),
    ...learners.map(
      ({ replica, revision: further }) =>
        `Node ${nodeOf(replica)}, a learner, has revision ${further} and cannot continue the database. It deletes its replica: save what you need of it before.`,
    ),
    `To continue with the data of node ${from}: cairn cluster recover ${name} --from ${from} --accept-revision ${revision}`,
  ];
  return failed(lines.join('\n'));
}

function named(nodes: readonly NodeId[]): string {
  return `node${nodes.length > 1 ? 's' : ''} ${nodes.toSorted((one, other) => one - other).join(', ')}`;
}
