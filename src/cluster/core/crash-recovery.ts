/**
 * Crash recovery: makes store and log consistent at a start, wherever the last process stopped (C7). The entries after
 * the applied state are replayed when the group is opened (group-lifecycle.ts).
 *
 * The log is authoritative, and the history up to the last checkpoint; rows are derived from both. After a power
 * failure the rows may have holes between the checkpoint D and the applied row A, and the history may end before A or
 * continue after it. Per database, after the history is cut at the end that A names:
 *
 *   A = D             nothing was applied since: nothing to do
 *   A > D, whole      the entries up to A are skipped
 *   A > D, a hole     back to D: the rows are derived again from the history up to D, and the log is replayed
 *   A lost, or A < D  durable rows are lost: back to D in the same way
 *   after damage      every row is audited (D26); if one is missing or damaged, back to D
 *   A by a snapshot, without that entry in the log: if whole, the log restarts after A; if not, back to D (C15)
 *   A > log           impossible without damage of the log: the node refuses to start
 *
 * The catalog needs none of this, because each of its batches is synced in the ledger. A replica whose log has started
 * is therefore in the stored catalog until its end is marked there, and one whose log has ended is not. If the ledger
 * contradicts this, it has lost synced data, and the node refuses to start: it would otherwise treat such a log as
 * obsolete, and create the replica again without its acknowledged entries once its catalog has caught up.
 */
import { CATALOG_GROUP, caught, DatabaseError, type GroupId, ignoring } from '#base';
import { isCorruptRecord } from '#database';
import { isHistoryDamage, type KvReader, type KvStore } from '#kv';
import { isStoreDamage, NO_CHECKPOINT, type RecoveredGroup, type RecoveredLog } from '#storage';
import type { AppliedMark, DurableMark, Machine, Machines, StoredMark } from '../machine.ts';
import type { Binding } from '../outcome.ts';
import { type DataDirectory, damagedRow, LOST_STORE, rowsToRemove } from '../store/data-directory.ts';
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
  readonly machines: Machines;
  /** The last process found damage that it could not attribute: the rows of every database are audited. */
  readonly isSuspect?: boolean;
  /** Databases whose rows the last process found damaged. */
  readonly damaged?: ReadonlySet<GroupId>;
}

/** A database whose rows are incomplete or damaged: it goes back to its checkpoint. */
export interface LostRows {
  readonly binding: Binding;
  readonly durable: DurableMark;
  /** The durable row that is missing or damaged; undefined after a power failure, which loses what was not synced. */
  readonly fault: string | undefined;
}

/**
 * Makes the history of every database on this node whole, and returns what is left to do. `withdraw` takes rows out of
 * use that must be made again.
 */
export async function recoverDatabases(
  ports: RecoveryPorts,
  log: RecoveredLog,
  held: readonly Binding[],
  withdraw: (lost: LostRows) => Promise<void>,
): Promise<RecoveryPlan> {
  const behind: GroupId[] = [];
  const ahead: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  const restarts: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  for (const binding of held) {
    const { group } = binding;
    const recovered = log.groups.get(group);
    const found = await wholeMark(ports, group, recovered).catch(damageOfHistory);
    if ('fault' in found) {
      // Before the next history is cut: a rebuild syncs all that were cut.
      await withdraw({ binding, durable: recovered?.checkpoint ?? NO_CHECKPOINT, ...found });
      continue;
    }
    // A group without a log has applied nothing yet.
    if (recovered === undefined) continue;
    if (isUnlogged(found, recovered)) restarts.push({ group, mark: found });
    else if (lastOf(recovered) > found.index) behind.push(group);
    else if (found.index > recovered.checkpoint.index) ahead.push({ group, mark: found });
  }
  const groups = new Set([CATALOG_GROUP, ...held.map(({ group }) => group)]);
  const orphans = [...log.groups.keys()].filter((group) => !groups.has(group));
  return { behind, orphans, ahead, restarts };
}

/** Its rows cannot be rebuilt, so they are not used either. */
function damageOfHistory(failure: unknown): Pick<LostRows, 'fault'> {
  if (isHistoryDamage(failure)) return { fault: failure.message };
  throw failure;
}

/** Position of a database in the store; undefined when its applied row is missing or damaged. */
export function markOf(machines: Machines, kv: KvReader, group: GroupId): StoredMark | undefined {
  return caught(() => machines.markOf(kv, group), ignoring(isCorruptRecord));
}

/** A removed replica is marked in the store from its end until the end of its log is durable. */
export function checkEnded(orphans: readonly GroupId[], isMarked: (group: GroupId) => boolean): void {
  for (const group of orphans) {
    if (!isMarked(group))
      throw broken(`The store has no replica of group ${group}, whose log has started: ${ONE_IS_OLDER}`);
  }
}

/** A first replica whose log has ended is no longer in the store. */
export function checkFirst(bindings: readonly Binding[], { groups, tombstones }: RecoveredLog): void {
  for (const { group, placement } of bindings) {
    if (placement === 0 && !groups.has(group) && tombstones.has(group))
      throw broken(`The store has a replica of group ${group}, whose log has ended: ${ONE_IS_OLDER}`);
  }
}

/** Cuts the history of the group, with the log that it has; returns the mark of its state if that is whole. */
async function wholeMark(
  ports: RecoveryPorts,
  group: GroupId,
  recovered: RecoveredGroup | undefined,
): Promise<DurableMark | Pick<LostRows, 'fault'>> {
  const { kv, machines, damaged } = ports;
  const { checkpoint = NO_CHECKPOINT } = recovered ?? {};
  if (damaged?.has(group) === true) return { fault: 'the last process found a damaged row, which its log names' };
  const applied = markOf(machines, kv, group);
  if (applied === undefined || applied.index < checkpoint.index) {
    const found =
      applied === undefined ? 'is missing, unless a rebuild was interrupted' : `is of entry ${applied.index}`;
    const fault = `the applied row for the checkpoint at ${checkpoint.index} ${found}`;
    // Without a checkpoint nothing of the database is durable.
    return { fault: checkpoint.index > 0 ? fault : undefined };
  }
  if (recovered === undefined || !isUnlogged(applied, recovered)) checkPlace(group, applied, recovered);
  return (await lostRows(ports, group, applied, checkpoint)) ?? { ...applied, history: kv.historyEnd(group) };
}

/** Rows that a power failure took, because they were not synced. */
const LOST = { fault: undefined };

/** Undefined when the state is whole. */
async function lostRows(
  { kv, machines, isSuspect }: RecoveryPorts,
  group: GroupId,
  applied: StoredMark,
  checkpoint: DurableMark,
): Promise<Pick<LostRows, 'fault'> | undefined> {
  // A batch may have lost its rows and kept its records, or the other way round.
  if ((await kv.cutHistory(group, applied.end, checkpoint.history)) !== applied.end) return LOST;
  if (applied.index > checkpoint.index && !(await machines.verify(kv, group, checkpoint))) return LOST;
  // A damaged segment is no reason to withdraw whole rows: they could not be made again.
  const fault = isSuspect === true ? await machines.audit(kv, group) : undefined;
  return fault === undefined ? undefined : { fault };
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

/** The applied index must lie between the checkpoint and the end of the log. */
function checkPlace(group: GroupId, applied: AppliedMark, recovered: RecoveredGroup | undefined): void {
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
export type RecoveredFiles = Pick<DataDirectory, 'storeDirectory' | 'logDirectory'>;

/** Adds the paths of the affected files to a failure. */
export function namingFiles(failure: unknown, { storeDirectory, logDirectory }: RecoveredFiles): unknown {
  if (isCorruptRecord(failure) || isHistoryDamage(failure)) return damagedRow(storeDirectory, failure);
  if (isStoreDamage(failure)) return rowsToRemove(failure);
  if (!(failure instanceof DatabaseError) || failure.details.reason !== DISAGREE) return failure;
  const places = `The store is in ${storeDirectory}, the log in ${logDirectory}`;
  const { code, details } = failure;
  return new DatabaseError(code, `${failure.message}. ${places}`, { details, cause: failure });
}
