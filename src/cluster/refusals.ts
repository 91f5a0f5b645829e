/**
 * Refusals of the runtime: each with its stable name in `details.reason`, the found value, and when to try again. A
 * refused proposal was not appended anywhere.
 *
 * Clients read them, so a group is named by its content (`Title`), not by its number.
 */
import {
  DatabaseError,
  formatLevels,
  type GroupHolders,
  type GroupId,
  INSTANT_SECONDS_MAX,
  type LevelRange,
  type LogIndex,
  type NodeId,
  type Revision,
} from '#base';
import type { DiskLevel } from '#storage';
import type { Damage } from './link.ts';

/** About one sync: most of the waiting entries are written by then. */
const RETRY_AFTER_MS = 50;
const DISK_RETRY_AFTER_MS = 5000;
const RECOVERY_RETRY_AFTER_MS = 1000;

/** Advice to the operator of a removed node. */
export const JOIN_AS_NEW = 'a node with an empty data directory joins as a new one';

/** Name of a group, to be used after an article: `database "shop"`, `catalog`. */
export type Title = string;

export const CATALOG_TITLE: Title = 'catalog';

/** Title of a database; without a name for one that is unknown or gone. */
export function titleOf(name: string | undefined): Title {
  return name === undefined ? 'database' : `database ${JSON.stringify(name)}`;
}

export function draining(): DatabaseError {
  const message = 'The node is draining and accepts no more requests; send to another node';
  return new DatabaseError('unavailable', message, { details: { reason: 'Draining' } });
}

/** Reason why a removed node does not start. */
export const NODE_REMOVED = 'NodeRemoved';

export function nodeRemoved(node: NodeId): DatabaseError {
  const message = `Node ${node} was removed from its cluster; ${JOIN_AS_NEW}`;
  return new DatabaseError('unavailable', message, { details: { reason: NODE_REMOVED } });
}

export const DUPLICATE_PROCESS = 'DuplicateProcess';

/** Another node receives messages from another process of this node, for longer than a restart explains. */
export function duplicateProcess(words: string): DatabaseError {
  const message = `Another process runs with the data directory of this node, or with a copy of it (${words}): stop one of them; move the directory of the copy away, and start that node with an empty one and --join`;
  return new DatabaseError('unavailable', message, { details: { reason: DUPLICATE_PROCESS } });
}

export function noSuchDatabase(title: Title): DatabaseError {
  const message = `The ${title} was deleted, or never created`;
  return new DatabaseError('not_found', message, { details: { reason: 'DatabaseNotFound' } });
}

/** The cluster is at a feature level that this release does not support. */
export function levelNotKnown(level: number, levels: LevelRange): DatabaseError {
  const release = level > levels.max ? 'the release that raised it, or a later one' : 'an earlier one, and finalize it';
  const message = `The cluster is at level ${level}, and this release supports ${formatLevels(levels)}: start ${release}`;
  return new DatabaseError('unavailable', message, { details: { reason: 'LevelNotKnown' } });
}

/** An entry of the log that this release cannot read. */
export function entryNotKnown(
  { index, level, group }: { readonly index: LogIndex; readonly level: number; readonly group: GroupId },
  levels: LevelRange,
): DatabaseError {
  const message = `Entry ${index} of group ${group} has feature level ${level}, and this release supports ${formatLevels(levels)}: start the release that wrote it, or a later one`;
  return new DatabaseError('internal', message, { details: { reason: 'UnknownFeatureLevel' } });
}

/** Another node knows that the cluster was raised, and this one does not yet. */
export function levelNotReached(level: number, own: number): DatabaseError {
  const message = `An entry of level ${level} is refused while the catalog on this node is at level ${own}; send again`;
  return later('LevelNotReached', message);
}

export function diskFull(level: DiskLevel): DatabaseError {
  const deletes =
    level === 'read-only'
      ? 'databases cannot be deleted and keys cannot be revoked either'
      : 'databases can be deleted, and keys revoked';
  const message = `The disk of this node is nearly full (${level}): writes are refused until there is space; reads continue, ${deletes}`;
  const details = { reason: 'DiskFull', retryAfterMs: DISK_RETRY_AFTER_MS };
  return new DatabaseError('storage_full', message, { details });
}

/** 10000-01-01T00:00:00Z, which neither RFC 3339 nor protobuf's Timestamp can write. */
const CLOCK_END_MS = (INSTANT_SECONDS_MAX + 1) * 1000;

/** Reason why a clock cannot assign times: times and ids are counted from 1970 on, and years have four digits. */
export function clockFault(nowMs: number): DatabaseError | undefined {
  if (nowMs < 0) return clockRefused(nowMs, 'before 1970', 'ClockBeforeEpoch');
  return nowMs < CLOCK_END_MS ? undefined : clockRefused(nowMs, 'after the year 9999', 'ClockAfterYear9999');
}

function clockRefused(nowMs: number, where: string, reason: string): DatabaseError {
  const message = `The clock of this node shows ${new Date(nowMs).toISOString()}, ${where}; correct it first`;
  return new DatabaseError('unavailable', message, { details: { reason } });
}

/** The leader transfers its leaderships, and assigns no times meanwhile. */
export function clockSkewed(aheadMs: number, skewMsMax: number): DatabaseError {
  const where = aheadMs > 0 ? 'ahead of' : 'behind';
  const message = `The clock of this node is ${Math.abs(aheadMs / 1000).toFixed(1)} s ${where} the clocks of the other nodes, and at most ${skewMsMax / 1000} s are allowed; correct it. Nothing was stored; send again, another node may lead by then`;
  return later('ClockSkewed', message);
}

export function payloadTooLarge(bytes: number, bytesMax: number): DatabaseError {
  const message = `The transaction takes ${bytes} bytes in the log; at most ${bytesMax} fit`;
  return new DatabaseError('too_large', message, { details: { reason: 'EntryTooLarge' } });
}

/** Definitions are fully validated before they are proposed, so this error is a missing check. */
export function definitionUnreadable(): DatabaseError {
  const message = 'This release could not read the definition again, so it was refused: please report this bug';
  return new DatabaseError('internal', message, { details: { reason: 'UnreadableDefinition' } });
}

export function uncommittedFull(title: Title, bytesMax: number): DatabaseError {
  const message = `${bytesMax} bytes of the ${title} already wait for the disk; send again when some are committed`;
  return refused('UncommittedBytes', message);
}

export function backlogFull(title: Title, entries: number, bytes: number): DatabaseError {
  const message = `${entries} entries (${bytes} bytes) of the ${title} are committed and wait to be applied; send again when some are`;
  return refused('ApplyBacklog', message);
}

export function waitingFull(title: Title, bytesMax: number): DatabaseError {
  const message = `${bytesMax} bytes of the ${title} already wait for its election; send again when it has a leader`;
  return refused('WaitingBytes', message);
}

export function forwardsFull(title: Title, leader: NodeId, bytesMax: number): DatabaseError {
  const message = `${bytesMax} bytes wait for node ${leader}, which leads the ${title}, to accept them; send again when it has accepted some`;
  return refused('ForwardedBytes', message);
}

/** The memory of all databases is exhausted, or this one exceeds its share. */
export function memoryFull(title: Title, bytesMax: number): DatabaseError {
  const message = `Pending entries and requests of all databases may use ${bytesMax} bytes on this node (replication-memory-bytes), and the ${title} uses its share; send again when some are applied`;
  return refused('ReplicationMemory', message);
}

export function readsFull(title: Title, countMax: number): DatabaseError {
  const message = `${countMax} reads of the ${title} already wait for its leader; send again`;
  return refused('PendingReads', message);
}

/** Another node leads, and accepts the request. */
export function notLeader(title: Title, leader: NodeId): DatabaseError {
  const message = `This node does not lead the ${title}; node ${leader} does, send there`;
  return new DatabaseError('not_leader', message, { details: { reason: 'NotLeader', leaderNode: leader } });
}

/** The forwarding node is not in the cluster, or not known here yet. */
export function nodeNotKnown(node: NodeId): DatabaseError {
  const message = `Node ${node} is not in the catalog of this node, so its requests are refused; send again when it is`;
  return later('NodeNotKnown', message);
}

/** No node of this release forwards such a request. */
export function malformedForward(fault: string): DatabaseError {
  const message = `The forwarded request cannot become an entry of the log: ${fault}`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'MalformedForward' } });
}

/** This node has no replica of the group. The request was not accepted. */
export function notHere(title: Title, holders: GroupHolders, shown?: Revision): DatabaseError {
  const asNew = shown === undefined ? '' : ` with revision ${shown}, which it has shown`;
  const message = `This node has no replica of the ${title}${asNew}; send to nodes ${holders.nodes.join(', ')}`;
  return new DatabaseError('not_leader', message, { details: { reason: 'NotReplica', holders } });
}

/** The replica of this node has diverged, and counts as absent. */
export function historyDiffers(title: Title, holders: GroupHolders): DatabaseError {
  const message = `The replica of the ${title} on this node has another history than its group, and is not used; send to nodes ${holders.nodes.join(', ')}`;
  return new DatabaseError('not_leader', message, { details: { reason: 'NotReplica', holders } });
}

/** The disk of this node is below its hard level, so its replica does not follow the leader (C37). */
export function lagsByDisk(title: Title, holders: GroupHolders): DatabaseError {
  const message = `The disk of this node is full, and its replica of the ${title} lags; send to nodes ${holders.nodes.join(', ')}`;
  return new DatabaseError('not_leader', message, { details: { reason: 'NotReplica', holders } });
}

/** Without a catalog nothing is known about any database. */
export function catalogDiverged(): DatabaseError {
  const message =
    'The replica of the catalog on this node has another history than its group, so this node serves no database; send to another node, and replace this one (cairn cluster status)';
  return new DatabaseError('unavailable', message, { details: { reason: 'CatalogNotConfirmed' } });
}

/** Its only replica is on this node, and not complete yet. */
export function beingRecovered(title: Title): DatabaseError {
  const message = `The ${title} was recovered, and its rows are being copied on this node; send again`;
  return new DatabaseError('unavailable', message, {
    details: { reason: 'BeingRecovered', retryAfterMs: RECOVERY_RETRY_AFTER_MS },
  });
}

/** Reason why no node serves a database until an operator has restored it. */
export const DATABASE_DAMAGED = 'DatabaseDamaged';

/** The rows of the replica of this node are being rebuilt (C43), or cannot be, because its events are damaged. */
export function withdrawn(title: Title, holders: GroupHolders, damage: Damage | undefined): DatabaseError {
  const unread = damage?.revision === undefined ? 'some revisions' : `revision ${damage.revision}`;
  const message =
    damage === undefined
      ? `The rows of the ${title} on this node are being rebuilt from its events`
      : `The events of the ${title} on this node are damaged, and ${unread} cannot be read`;
  if (holders.nodes.length > 0) {
    const elsewhere = `${message}; send to nodes ${holders.nodes.join(', ')}`;
    return new DatabaseError('not_leader', elsewhere, { details: { reason: 'NotReplica', holders } });
  }
  if (damage !== undefined) {
    const advice = 'The database is out of service until an operator restores it';
    const page = 'docs/operations/runbooks/store-corruption.md';
    return new DatabaseError('internal', `${message}. ${advice} (${page})`, { details: { reason: DATABASE_DAMAGED } });
  }
  return new DatabaseError('unavailable', `${message}; send again`, {
    details: { reason: 'BeingRebuilt', retryAfterMs: RECOVERY_RETRY_AFTER_MS },
  });
}

/** It became an entry, and then its leader lost the leadership: its outcome is unknown here. */
export function outcomeUnknown(title: Title): DatabaseError {
  const message = `The ${title} changed its leader before this request was answered, so it may be committed or not. Repeat it with the same transaction_id: a committed transaction is not applied again`;
  return new DatabaseError('unavailable', message, { details: { reason: 'OutcomeUnknown' } });
}

/** It was an entry, and another one was committed in its place. */
export function notCommitted(title: Title): DatabaseError {
  const message = `The ${title} changed its leader, and the new one has written another entry instead: the request is not committed; send again`;
  return later('NotCommitted', message);
}

export function noLeader(title: Title): DatabaseError {
  return later('NoLeader', `The ${title} has no leader; send again`);
}

/** The local catalog is too old to answer from. */
export function catalogNotConfirmed(silentMs: number, wasConfirmed: boolean): DatabaseError {
  const since = `${(silentMs / 1000).toFixed(1)} s${wasConfirmed ? '' : ', since it started'}`;
  const message = `This node has not heard from a leader of the catalog for ${since}, so it cannot know whether a database was deleted or created again meanwhile, and serves none; send to another node. It continues when it reaches a majority of the voters of the catalog: see that they run, and that their peer ports reach each other (cairn cluster status)`;
  return later('CatalogNotConfirmed', message);
}

/** The node receives the catalog, but processes it too late. */
export function catalogAnswersLate(leaseMs: number): DatabaseError {
  const message = `This node repeatedly took longer than ${leaseMs / 1000} s to process the answer of the catalog's leader, so it cannot know whether a database was deleted or created again meanwhile, and serves none. It is overloaded, or its threads were suspended: send later, or to another node`;
  return later('CatalogNotConfirmed', message);
}

function refused(reason: string, message: string): DatabaseError {
  return new DatabaseError('rate_limited', message, { details: { reason, retryAfterMs: RETRY_AFTER_MS } });
}

function later(reason: string, message: string): DatabaseError {
  return new DatabaseError('unavailable', message, { details: { reason, retryAfterMs: RETRY_AFTER_MS } });
}
