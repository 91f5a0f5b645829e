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
 *   A < D, A > log    impossible without damage: the node refuses to start
 *
 * The catalog needs none of this: its batches are synced one by one.
 */
import { assert, CATALOG_GROUP, DatabaseError, type GroupId } from '#base';
import type { KvStore } from '#kv';
import type { RecoveredGroup, RecoveredLog } from '#storage';
import type { DurableMark, Machine, Machines } from './machine.ts';

export interface RecoveryPlan {
  /** Groups with entries that are not applied: they are opened at once, so that the node starts where it was. */
  readonly behind: readonly GroupId[];
  /** Groups of the log that the catalog does not have: their delete was applied, their end not recorded. */
  readonly orphans: readonly GroupId[];
}

/** Mends every database that the log and the catalog know, and says what is left to do. */
export async function recoverDatabases(
  kv: KvStore,
  machines: Machines,
  log: RecoveredLog,
  isKnown: (group: GroupId) => boolean,
): Promise<RecoveryPlan> {
  const behind: GroupId[] = [];
  const orphans: GroupId[] = [];
  for (const recovered of log.groups.values()) {
    const { group } = recovered;
    if (group === CATALOG_GROUP) continue;
    if (!isKnown(group)) orphans.push(group);
    else if (await recoverDatabase(kv, machines, recovered)) behind.push(group);
  }
  return { behind, orphans };
}

/** True when the group has entries in the log that its state does not include. */
async function recoverDatabase(kv: KvStore, machines: Machines, recovered: RecoveredGroup): Promise<boolean> {
  const { group, checkpoint, entries } = recovered;
  const { applied } = opened(machines, kv, group);
  if (applied.index < checkpoint.index) throw damaged(group, checkpoint, applied);
  const last = entries.at(-1)?.index ?? checkpoint.index;
  if (applied.index > last) throw damaged(group, checkpoint, applied);
  const isWhole = applied.index === checkpoint.index || (await machines.verify(kv, group, checkpoint));
  if (isWhole) return last > applied.index;
  await machines.rebuild(kv, group, checkpoint);
  const { applied: rebuilt } = opened(machines, kv, group);
  assert(rebuilt.index === checkpoint.index, 'A rebuilt database stands at its checkpoint', [rebuilt, checkpoint]);
  return last > rebuilt.index;
}

function opened(machines: Machines, kv: KvStore, group: GroupId): Machine {
  const machine = machines.openDatabase(kv, group);
  if (machine !== undefined) return machine;
  throw broken(`Group ${group} is in the catalog and the log but has no applied row in the store`);
}

function damaged(group: GroupId, checkpoint: DurableMark, applied: DurableMark): DatabaseError {
  return broken(
    `Group ${group} is applied to log index ${applied.index}, which is not between its checkpoint ${checkpoint.index} and the end of its log: store and log do not belong together, or one of them has lost data that was synced`,
  );
}

function broken(message: string): DatabaseError {
  return new DatabaseError('internal', `${message}; restore the data directory from a backup`, {
    details: { reason: 'StoreAndLogDisagree' },
  });
}
