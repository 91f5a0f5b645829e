/**
 * Starts a core from the data on disk: first the catalog, which names the databases; then each database is repaired
 * (crash-recovery.ts); then groups that lag and groups with other members are opened, and replay their logs. A database
 * with lost or damaged rows is opened later: rebuilds.ts makes its rows again in the background first.
 */
import { CATALOG_GROUP, type GroupId } from '#base';
import { groupsWithRows } from '#database';
import { NO_HISTORY } from '#kv';
import type { RecoveredLog } from '#storage';
import type { Group } from '../group/group.ts';
import type { CoreParts } from './core-parts.ts';
import {
  beginLogs,
  checkCatalog,
  checkEnded,
  checkFirst,
  type RecoveryPlan,
  type RecoveryPorts,
  recoverDatabases,
} from './crash-recovery.ts';
import type { Turns } from './turns.ts';

export interface StartupPorts extends RecoveryPorts {
  /** Makes every completed write of the store durable. */
  readonly syncStore: () => Promise<void>;
  readonly recovered: RecoveredLog;
  readonly parts: CoreParts;
  readonly turns: Turns;
  readonly monotonicMs: () => number;
}

export async function startUp(ports: StartupPorts): Promise<void> {
  const { recovered, parts, turns } = ports;
  const { catalog: machine, lifecycle, cluster, trash } = parts;
  const { hosting } = cluster;
  if (checkCatalog(machine, recovered)) {
    beginLogs([{ group: CATALOG_GROUP, mark: { ...machine.applied, history: NO_HISTORY } }], parts.feed, lifecycle);
  }
  const unended = await trash.recover(ports.monotonicMs(), (group) => recovered.groups.has(group));
  for (const binding of machine.list()) hosting.admit(binding, recovered.groups.has(binding.group));
  const catalog = openAll(turns, () => [lifecycle.openCatalog(machine)]);
  // Below its level a new cluster would refuse requests of its first clients.
  const isSettled = (group: Group): boolean => group.isSettled && !(group.isAlone && cluster.isFounding);
  await turns.until(() => catalog.every(isSettled));
  const behind = openAll(turns, await mendDatabases(ports, unended));
  await turns.until(() => behind.every((group) => group.isSettled));
  if (lifecycle.awaited.length > 0) await beginAwaited(ports);
  turns.run(() => hosting.start());
}

/** Repairs every database; returns a function that opens the groups with pending work. */
async function mendDatabases(
  ports: StartupPorts,
  unended: ReadonlySet<GroupId>,
): Promise<() => readonly (Group | undefined)[]> {
  const { recovered, parts } = ports;
  const { catalog, lifecycle, feed, trash, cluster } = parts;
  const { recoveries, rebuilds } = cluster.hosting;
  const here = catalog.list().filter(({ group }) => lifecycle.isHere(group));
  checkFirst(here, recovered);
  const held = [...here, ...recoveries.origins];
  await removeStrayRows(ports, new Set(held.map(({ group }) => group)));
  const plan = await recoverDatabases(ports, recovered, held, (lost) => rebuilds.withdraw(lost));
  // The log of a recovered replica that is not complete ends, too: it begins again.
  checkEnded(plan.orphans, (group) => trash.has(group) || lifecycle.awaitedOf(group)?.recovery !== undefined);
  endOrphans(ports, plan, unended);
  // A group with other members has entries to apply as soon as it has a leader, and other members may lack its entries
  // until then.
  const shared = new Set<GroupId>();
  for (const binding of catalog.list()) if (lifecycle.isShared(binding)) shared.add(binding.group);
  const ahead = plan.ahead.filter(({ group }) => !shared.has(group));
  if (ahead.length + plan.restarts.length + rebuilds.groups.length > 0) await ports.syncStore();
  beginLogs(plan.restarts, feed, lifecycle);
  for (const { group, mark } of ahead) {
    feed.checkpoint(group, mark);
    lifecycle.restart(group, mark);
  }
  const open = [...shared, ...plan.behind];
  return () => open.map((group) => lifecycle.touch(group));
}

/**
 * Deletes damaged rows of groups that are not on this node. A damaged key names any group, and the audit of a running
 * node would find the row again after every start.
 */
async function removeStrayRows(
  { kv, machines, isSuspect, damaged = new Set(), parts: { trash } }: StartupPorts,
  held: ReadonlySet<GroupId>,
): Promise<void> {
  for await (const group of isSuspect === true ? groupsWithRows(kv) : damaged) {
    const { gte, lt } = machines.rowsOf(group);
    if (!held.has(group) && !trash.has(group)) await kv.clear(gte, lt);
  }
}

/** Ends the logs of replicas that are no longer on this node; rows of the `unended` ones are deleted afterwards. */
function endOrphans(
  { parts: { lifecycle, feed, trash }, monotonicMs }: StartupPorts,
  { orphans }: Pick<RecoveryPlan, 'orphans'>,
  unended: ReadonlySet<GroupId>,
): void {
  for (const group of orphans) {
    const clear = (): void => {
      if (unended.has(group)) trash.add(group, monotonicMs());
    };
    // A deletion that the catalog has only now applied has already ended its group; a group ends once.
    if (lifecycle.endLog(group)) feed.tombstone(group, clear);
    else clear();
  }
}

function openAll(turns: Turns, open: () => readonly (Group | undefined)[]): readonly Group[] {
  let opened: readonly (Group | undefined)[] = [];
  turns.run(() => {
    opened = open();
  });
  return opened.filter((group) => group !== undefined);
}

/** Starts replicas that had to wait for the remains of an earlier one. */
async function beginAwaited({ parts, turns, monotonicMs }: StartupPorts): Promise<void> {
  const { feed, trash, cluster } = parts;
  turns.run(() => undefined);
  await turns.until(() => feed.isIdle);
  while (trash.isDue(monotonicMs())) await trash.run();
  await cluster.hosting.beginAll();
  turns.run(() => undefined);
}
