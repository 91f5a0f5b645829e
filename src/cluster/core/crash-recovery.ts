/**
 * Crash recovery: makes store and log consistent at a start, wherever the last process stopped (C7). The entries after
 * the applied state are replayed when the group is opened (group-lifecycle.ts).
 *
 * The log is authoritative; the store is derived from it, except that the history up to the last checkpoint exists only
 * in the store. After a power failure the rows may have holes between the checkpoint D and the applied row A, and the
 * history may end before A or go on behind it. Per database, after the history is cut at the end that A names:
 *
 *   A = D             nothing was applied since: nothing to do
 *   A > D, whole      the entries up to A are skipped
 *   A > D, a hole     back to D: later rows are deleted, derived rows are derived again, the log is replayed
 *   after damage      every row is audited (D26); if one is missing or damaged, back to D in the same way
 *   A by a snapshot, without that entry in the log: if whole, the log restarts after A; if not, back to D (C15)
 *   A < D, A > log    impossible without damage: the node refuses to start
 *
 * The catalog needs none of this, because its batches are synced one by one. A replica whose log has started is
 * therefore in the stored catalog until its end is marked there, and one whose log has ended is not. If the store
 * contradicts this, it has lost synced data, and the node refuses to start: it would otherwise treat such a log as
 * obsolete, and create the replica again without its acknowledged entries once its catalog has caught up.
 */
import { assert, CATALOG_GROUP, DatabaseError, type GroupId } from '#base';
import { isCorruptRecord } from '#database';
import type { KvStore } from '#kv';
import { decodeTail, type RecoveredGroup, type RecoveredLog, tailKey } from '#storage';
import type { AppliedMark, DurableMark, Machine, Machines, StoredMark } from '../machine.ts';
import type { Binding } from '../outcome.ts';
import { type DataDirectory, damagedRow, LOST_STORE, sentenceOnStoreLogs } from '../store/data-directory.ts';
import { SyncedStore } from '../store/synced-store.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { LogFeed } from './log-feed.ts';

export interface RecoveryPlan {
  /** Groups with entries that are not applied: they are opened at once, so that the node continues where it was. */
  readonly behind: readonly GroupId[];
  /** Groups that are in the log but no longer on this node: deleted or moved, with their end perhaps not recorded. */
  readonly orphans: readonly GroupId[];
  /**
   * Groups that have applied all of their log, and more than their checkpoint. They may not be used for a year, so
   * their checkpoint is made now; it allows older segments to be deleted (W12).
   */
  readonly ahead: readonly { readonly group: GroupId; readonly mark: DurableMark }[];
  /** Groups whose state came from another replica, and whose log must restart after it. */
  readonly restarts: readonly { readonly group: GroupId; readonly mark: DurableMark }[];
}

/** Restarts the logs of groups that are not open after their durable states. */
export function beginLogs(restarts: RecoveryPlan['restarts'], feed: LogFeed, lifecycle: Lifecycle): void {
  for (const { group, mark } of restarts) {
    // A group that was removed meanwhile has no log.
    if (!lifecycle.isUntouched(group)) continue;
    feed.restart(group, mark);
    lifecycle.restart(group, mark);
  }
}

/**
 * Throws unless the catalog in the store and the one in the log can belong to one node. Returns whether its log must
 * restart after its state.
 */
export function checkCatalog({ applied }: Pick<Machine, 'applied'>, log: RecoveredLog): boolean {
  const recovered = log.groups.get(CATALOG_GROUP);
  if (recovered !== undefined && isUnlogged(applied, recovered)) return true;
  checkPlace(CATALOG_GROUP, applied, recovered);
  return false;
}

export interface RecoveryPorts {
  readonly kv: KvStore;
  /** Makes every completed write of the store durable. */
  readonly syncStore: () => Promise<void>;
  readonly machines: Machines;
  /** The last process found damage: the rows of every database are audited. */
  readonly damage?: DamagePorts | undefined;
}

export interface DamagePorts {
  /** A row of the database is missing or damaged, as the text says: it is rebuilt from its history. */
  readonly onRebuild: (group: GroupId, fault: string) => void;
}

/** Repairs every database in the log and the catalog, and returns what is left to do. */
export async function recoverDatabases(
  ports: RecoveryPorts,
  log: RecoveredLog,
  isHere: (group: GroupId) => boolean,
): Promise<RecoveryPlan> {
  const databases = [...log.groups.values()].filter(({ group }) => group !== CATALOG_GROUP);
  const here = databases.filter(({ group }) => isHere(group));
  const behind: GroupId[] = [];
  const ahead: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  const restarts: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  for (const recovered of here) {
    const { group, checkpoint } = recovered;
    // One at a time: a rebuild syncs every history that was cut, and takes memory.
    const mark = (await wholeMark(ports, recovered)) ?? (await rebuild(ports, recovered));
    if (isUnlogged(mark, recovered)) restarts.push({ group, mark });
    else if (lastOf(recovered) > mark.index) behind.push(group);
    else if (mark.index > checkpoint.index) ahead.push({ group, mark });
  }
  const orphans = databases.filter((each) => !here.includes(each)).map(({ group }) => group);
  return { behind, orphans, ahead, restarts };
}

/** A group without a log has applied nothing yet. */
export function checkUnlogged(machines: Machines, kv: KvStore, groups: readonly GroupId[]): void {
  for (const group of groups) checkPlace(group, markOf(machines, kv, group), undefined);
}

/** A removed replica is marked in the store from its end until the end of its log is durable. */
export function checkEnded(orphans: readonly GroupId[], isMarked: (group: GroupId) => boolean): void {
  for (const group of orphans) {
    if (!isMarked(group))
      throw broken(`The store has no replica of group ${group}, whose log has started: ${ONE_IS_OLDER}`);
  }
}

/** A first replica whose log has ended is no longer in the store. */
export function checkFirst(bindings: readonly Binding[], { tombstones }: Pick<RecoveredLog, 'tombstones'>): void {
  for (const { group, placement } of bindings) {
    if (placement === 0 && tombstones.has(group))
      throw broken(`The store has a replica of group ${group}, whose log has ended: ${ONE_IS_OLDER}`);
  }
}

/** Cuts the history of the group; returns the mark of its state if that is whole. */
async function wholeMark(ports: RecoveryPorts, recovered: RecoveredGroup): Promise<AppliedMark | undefined> {
  const { kv, machines } = ports;
  const { group, checkpoint } = recovered;
  const applied = markOf(machines, kv, group);
  if (!isUnlogged(applied, recovered)) checkPlace(group, applied, recovered);
  // A batch may have lost its rows and kept its records, or the other way round.
  const reaches = (await kv.cutHistory(group, applied.end)) === applied.end;
  const isWhole = reaches && (applied.index === checkpoint.index || (await machines.verify(kv, group, checkpoint)));
  return isWhole && (await passesAudit(ports, group)) ? applied : undefined;
}

/** Makes the state of the group that of its checkpoint; returns its mark. */
async function rebuild(
  { kv, syncStore, machines }: RecoveryPorts,
  { group, checkpoint }: RecoveredGroup,
): Promise<AppliedMark> {
  // Each step is durable before the next, so that another power failure cannot hide the damage.
  const { end: synced } = decodeTail(group, kv.get(tailKey(group)));
  await machines.rebuild({ from: kv, to: new SyncedStore(kv, syncStore) }, group, { ...checkpoint, synced });
  const rebuilt = markOf(machines, kv, group);
  assert(rebuilt.index === checkpoint.index, 'A rebuilt database stands at its checkpoint', [rebuilt, checkpoint]);
  return rebuilt;
}

async function passesAudit({ kv, machines, damage }: RecoveryPorts, group: GroupId): Promise<boolean> {
  const fault = damage && (await machines.audit(kv, group));
  if (fault !== undefined) damage?.onRebuild(group, fault);
  return fault === undefined;
}

/**
 * Returns whether the state came from another replica, and the process ended before the log restarted after it: the log
 * then does not lead to this state. If the log has that very entry, it is valid, including the entries after it.
 */
function isUnlogged({ index, term, logStart }: AppliedMark, { checkpoint, entries }: RecoveredGroup): boolean {
  if (index !== logStart || index <= checkpoint.index) return false;
  return entries[index - checkpoint.index - 1]?.term !== term;
}

function lastOf({ checkpoint, entries }: RecoveredGroup): number {
  return entries.at(-1)?.index ?? checkpoint.index;
}

function markOf(machines: Machines, kv: KvStore, group: GroupId): StoredMark {
  const mark = machines.markOf(kv, group);
  if (mark !== undefined) return mark;
  throw broken(`Group ${group} is in the catalog and the log but has no applied row in the store`);
}

/** The applied index must lie between the checkpoint and the end of the log. */
function checkPlace(group: GroupId, applied: DurableMark, recovered: RecoveredGroup | undefined): void {
  const from = recovered?.checkpoint.index ?? 0;
  const last = recovered === undefined ? from : lastOf(recovered);
  if (applied.index < from || applied.index > last) {
    throw broken(
      `Group ${group} is applied to log index ${applied.index}, but its log goes from ${from} to ${last}: ${ONE_IS_OLDER}`,
    );
  }
}

const DISAGREE = 'StoreAndLogDisagree';
const ONE_IS_OLDER = 'store and log do not belong together, or one of them has lost what was synced';

function broken(message: string): DatabaseError {
  return new DatabaseError('internal', `${message}. ${LOST_STORE}`, { details: { reason: DISAGREE } });
}

/** Files to name in a failure. */
export type RecoveredFiles = Pick<DataDirectory, 'storeDirectory' | 'logDirectory' | 'storeLogs'>;

/** Adds the paths of the affected files to a failure. */
export function namingFiles(failure: unknown, { storeDirectory, logDirectory, storeLogs }: RecoveredFiles): unknown {
  if (isCorruptRecord(failure)) return damagedRow(storeDirectory, failure);
  if (!(failure instanceof DatabaseError) || failure.details.reason !== DISAGREE) return failure;
  const places = `The store is in ${storeDirectory}, the log in ${logDirectory}.${sentenceOnStoreLogs(storeLogs)}`;
  const { code, details } = failure;
  return new DatabaseError(code, `${failure.message}. ${places}`, { details, cause: failure });
}
