/** The way of a core to its end, so that nobody has to wait for what it leaves. */
import type { CoreParts } from './core-parts.ts';
import type { CorePorts } from './core-ports.ts';
import type { Turns } from './turns.ts';

export interface DrainPorts extends Pick<CorePorts, 'monotonicMs' | 'limits'> {
  readonly parts: CoreParts;
  readonly turns: Turns;
  /** Makes a checkpoint of everything that is written by now. */
  readonly checkpoint: () => Promise<void>;
  /** The clearing of rows that is under way, if any. */
  readonly clearing: () => Promise<void> | undefined;
}

/**
 * Takes nothing more, answers what it has, hands over the lead of groups with other members, and makes everything
 * durable. Log and store stay open, and nothing is written to them afterwards.
 */
export async function drainCore({
  parts,
  turns,
  monotonicMs,
  limits,
  checkpoint,
  clearing,
}: DrainPorts): Promise<void> {
  const { apply, checkpointer, cluster, leadership, snapshots, warmer } = parts;
  turns.run(() => {
    // The front asks for nothing any more: what is applied is written, and told, at once.
    parts.reporter.follow(true);
    parts.intake.close();
    parts.reads.close();
    parts.trash.close();
    warmer.close();
    snapshots.close();
    cluster.close();
  });
  await turns.until(() => isIdle(parts));
  const handOverMs = monotonicMs() + limits.handOverMs;
  turns.run(() => leadership.handOver());
  await turns.until(() => !leadership.leadsOthers || monotonicMs() >= handOverMs);
  turns.closeEars();
  await Promise.all([clearing(), warmer.running, snapshots.settled(), cluster.settled()]);
  while (checkpointer.isDirty || !apply.isIdle) {
    await Promise.all([turns.until(() => apply.isIdle), checkpoint()]);
  }
  turns.close();
}

function isIdle({ apply, forwards, cluster, lifecycle }: CoreParts): boolean {
  if (!apply.isIdle || forwards.count + cluster.fence.count > 0) return false;
  return ![...lifecycle.openGroups].some(({ isBusy }) => isBusy);
}
