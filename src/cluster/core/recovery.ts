/**
 * Recovery: brings store and log together after a start, whatever the last process got to do (C7).
 *
 * The log is right; the store is a cache of what the log once said, with one duty of its own: the pages up to the last
 * checkpoint are nowhere else. Between the checkpoint D and its applied row A the store may have holes after a power
 * failure. Per database:
 *
 *   A = D             nothing was applied since: nothing to do
 *   A > D, whole      the entries up to A are skipped
 *   A > D, a hole     back to D: what is above is deleted, what is derived is derived anew, the log is replayed
 *   A by a snapshot, and the log holds no such entry: if whole, the log begins behind A; if not, back to D (C15)
 *   A < D, A > log    otherwise impossible without damage: the node refuses to start
 *
 * The catalog needs none of this: its batches are synced one by one. So a copy whose log has begun is in the catalog of
 * the store until its end is marked there, and one whose log has ended is not. A store in which that is otherwise has
 * lost what was synced, and the node refuses to start as well: taking such a log for one that is done with, it would
 * hold the copy anew without what that has acknowledged, once its catalog is as far as before.
 */
import { assert, CATALOG_GROUP, DatabaseError, type GroupId } from '#base';
import type { KvStore } from '#kv';
import type { RecoveredGroup, RecoveredLog } from '#storage';
import type { AppliedMark, DurableMark, Machine, Machines } from '../machine.ts';
import type { Binding } from '../outcome.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import { LOST_STORE, sentenceOnStoreLogs } from '../store/store-logs.ts';
import { SyncedStore } from '../store/synced-store.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { LogFeed } from './log-feed.ts';

export interface RecoveryPlan {
  /** Groups with entries that are not applied: they are opened at once, so that the node starts where it was. */
  readonly behind: readonly GroupId[];
  /** Groups that are in the log and not held here any more: deleted or moved, their end perhaps not recorded. */
  readonly orphans: readonly GroupId[];
  /**
   * Groups that have applied all of their log, and more than their checkpoint says. Nobody may touch them for a year,
   * so their checkpoint is made now: until then no segment since their last one can go (W12).
   */
  readonly ahead: readonly { readonly group: GroupId; readonly mark: DurableMark }[];
  /** Groups whose state came from another replica, and whose log is to begin behind it. */
  readonly restarts: readonly { readonly group: GroupId; readonly mark: DurableMark }[];
}

/** Has the logs of groups that are not open begin behind their states, which are durable. */
export function beginLogs(restarts: RecoveryPlan['restarts'], feed: LogFeed, lifecycle: Lifecycle): void {
  for (const { group, mark } of restarts) {
    // What has gone meanwhile has no log any more.
    if (!lifecycle.isUntouched(group)) continue;
    feed.restart(group, mark);
    lifecycle.restart(group, mark);
  }
}

/**
 * Throws unless the catalog in the store and the one in the log can be of one node. Whether its log is to begin behind
 * its state.
 */
export function checkCatalog({ applied }: Pick<Machine, 'applied'>, log: RecoveredLog): boolean {
  const recovered = log.groups.get(CATALOG_GROUP);
  if (recovered !== undefined && isUnlogged(applied, recovered)) return true;
  checkPlace(CATALOG_GROUP, applied, recovered);
  return false;
}

export interface RecoveryPorts {
  readonly kv: KvStore;
  /** Makes every write of the store that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  readonly machines: Machines;
}

/** Mends every database that the log and the catalog know, and says what is left to do. */
export async function recoverDatabases(
  ports: RecoveryPorts,
  log: RecoveredLog,
  isHere: (group: GroupId) => boolean,
): Promise<RecoveryPlan> {
  const behind: GroupId[] = [];
  const orphans: GroupId[] = [];
  const ahead: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  const restarts: { readonly group: GroupId; readonly mark: DurableMark }[] = [];
  for (const recovered of log.groups.values()) {
    const { group, checkpoint } = recovered;
    if (group === CATALOG_GROUP) continue;
    if (!isHere(group)) {
      orphans.push(group);
      continue;
    }
    const mark = await recoverDatabase(ports, recovered);
    if (isUnlogged(mark, recovered)) restarts.push({ group, mark });
    else if (lastOf(recovered) > mark.index) behind.push(group);
    else if (mark.index > checkpoint.index) ahead.push({ group, mark });
  }
  return { behind, orphans, ahead, restarts };
}

/** A group that the log does not know has applied nothing yet. */
export function checkUnlogged(machines: Machines, kv: KvStore, groups: readonly GroupId[]): void {
  for (const group of groups) checkPlace(group, markOf(machines, kv, group), undefined);
}

/** A copy that this node holds no more is marked in the store from its end until its log has ended, durably. */
export function checkEnded(orphans: readonly GroupId[], isMarked: (group: GroupId) => boolean): void {
  for (const group of orphans) {
    if (!isMarked(group)) throw broken(`The store has no copy of group ${group}, whose log goes on: ${ONE_IS_OLDER}`);
  }
}

/** A copy that a database began with on this node is in the store no more when its log has ended. */
export function checkFirst(bindings: readonly Binding[], { tombstones }: Pick<RecoveredLog, 'tombstones'>): void {
  for (const { group, placement } of bindings) {
    if (placement === 0 && tombstones.has(group))
      throw broken(`The store has a copy of group ${group}, whose log has ended: ${ONE_IS_OLDER}`);
  }
}

/** Leaves the state of the group whole; answers how far it then is. */
async function recoverDatabase(ports: RecoveryPorts, recovered: RecoveredGroup): Promise<AppliedMark> {
  const { kv, syncStore, machines } = ports;
  const { group, checkpoint } = recovered;
  const applied = markOf(machines, kv, group);
  if (!isUnlogged(applied, recovered)) checkPlace(group, applied, recovered);
  const isWhole = applied.index === checkpoint.index || (await machines.verify(kv, group, checkpoint));
  if (isWhole) return applied;
  // Step by step durable: after another power failure in the middle the damage must still show.
  await machines.rebuild(new SyncedStore(kv, syncStore), group, checkpoint);
  const rebuilt = markOf(machines, kv, group);
  assert(rebuilt.index === checkpoint.index, 'A rebuilt database stands at its checkpoint', [rebuilt, checkpoint]);
  return rebuilt;
}

/**
 * Whether the state was taken over from another replica, and the process died before the log began behind it: what the
 * log holds is not what leads there. Where it holds that very entry, it is right, and so is what stands behind it.
 */
function isUnlogged({ index, term, logStart }: AppliedMark, { checkpoint, entries }: RecoveredGroup): boolean {
  if (index !== logStart || index <= checkpoint.index) return false;
  return entries[index - checkpoint.index - 1]?.term !== term;
}

function lastOf({ checkpoint, entries }: RecoveredGroup): number {
  return entries.at(-1)?.index ?? checkpoint.index;
}

function markOf(machines: Machines, kv: KvStore, group: GroupId): AppliedMark {
  const mark = machines.markOf(kv, group);
  if (mark !== undefined) return mark;
  throw broken(`Group ${group} is in the catalog and the log but has no applied row in the store`);
}

/** What is applied lies between the checkpoint and the end of the log. */
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

/** Where a failure may come from. */
export type RecoveredFiles = Pick<DataDirectory, 'storeDirectory' | 'logDirectory' | 'storeLogs'>;

/** The same failure with the files that it is about, if it is one of these. */
export function namingFiles(failure: unknown, { storeDirectory, logDirectory, storeLogs }: RecoveredFiles): unknown {
  if (!(failure instanceof DatabaseError) || failure.details.reason !== DISAGREE) return failure;
  const places = `The store is in ${storeDirectory}, the log in ${logDirectory}.${sentenceOnStoreLogs(storeLogs)}`;
  const { code, details } = failure;
  return new DatabaseError(code, `${failure.message}. ${places}`, { details, cause: failure });
}
