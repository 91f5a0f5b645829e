/** Drains a core, so that no client has to wait for what it leaves. */
import type { CoreParts } from './core-parts.ts';
import type { CorePorts } from './core-ports.ts';
import type { Turns } from './turns.ts';

/** Progress of a drain with `--stay`. */
export interface DrainNote {
  readonly phase: 'began' | 'handed-over' | 'ended';
  /** Leaderships that another node could take, and has not taken yet. */
  readonly leads: number;
}

export interface DrainPorts extends Pick<CorePorts, 'monotonicMs' | 'limits'> {
  readonly parts: CoreParts;
  readonly turns: Turns;
  /** Makes a checkpoint of everything written so far. */
  readonly checkpoint: () => Promise<void>;
  /** The deletion of rows in progress, if any. */
  readonly clearing: () => Promise<void> | undefined;
}

/**
 * Transfers the leaderships of this node while it continues to work: requests of its clients are forwarded to the new
 * leaders. Ends when none is left, when no node takes the rest, or when the time is over. May be repeated.
 */
export async function leaveCore(
  { parts, turns, monotonicMs }: Pick<DrainPorts, 'parts' | 'turns' | 'monotonicMs'>,
  withinMs: number,
): Promise<void> {
  const { cluster, leadership } = parts;
  const endMs = monotonicMs() + withinMs;
  turns.run(() => {
    // Other nodes must know before they choose a transfer target.
    cluster.leave();
    leadership.leave();
  });
  const { transfers } = leadership;
  await turns.until(() => transfers.count === 0 || transfers.hasStalled(monotonicMs()) || monotonicMs() >= endMs);
  // The front learns the new leaders and the number of remaining leaderships.
  parts.reporter.flushAll();
}

/**
 * Accepts no more requests, transfers shared leaderships, answers pending requests, and makes everything durable. Log
 * and store stay open, and nothing is written to them afterwards.
 *
 * Other nodes may continue to write; their replicated entries are accepted only as long as this node owes an answer or
 * is a leader.
 */
export async function drainCore(ports: DrainPorts): Promise<void> {
  const { parts, turns, monotonicMs, limits, checkpoint, clearing } = ports;
  const { apply, checkpointer, cluster, forwards, leadership, snapshots, warmer } = parts;
  const beganMs = monotonicMs();
  const isAfter = (ms: number): boolean => monotonicMs() >= beganMs + ms;
  turns.run(() => {
    // The front sends nothing any more: applied entries are written and reported at once.
    parts.reporter.follow(true);
    parts.intake.close();
    parts.reads.close();
    parts.trash.close();
    warmer.close();
    snapshots.close();
    cluster.close();
    // Remaining leaderships: requests of other nodes wait until another node leads. In-flight entries pass to it.
    leadership.leave();
  });
  await turns.until(() => !owesAnswers(parts) || isAfter(limits.outcomeWaitMs));
  turns.run(() => {
    forwards.expire(Number.POSITIVE_INFINITY);
    leadership.giveUp();
  });
  // The rest waits for disks of this node, for a read index or for a lease.
  await turns.until(() => !owesAnswers(parts) || isAfter(limits.owedMs));
  // A hanging disk must not block the drain. The next start reads from the log what was written.
  turns.run(() => {
    for (const group of parts.lifecycle.openGroups) if (group.isBusy) leadership.giveUpIn(group);
  });
  const { transfers } = leadership;
  await turns.until(
    () => transfers.count === 0 || transfers.hasStalled(monotonicMs()) || isAfter(limits.transfersIdleMs),
  );
  turns.closeEars();
  await Promise.all([clearing(), warmer.running, snapshots.settled(), cluster.settled(), parts.divergences.settled()]);
  while (checkpointer.isDirty || !apply.isIdle) {
    await Promise.all([turns.until(() => apply.isIdle), checkpoint()]);
  }
  turns.close();
}

/** Returns whether a request to this node has no answer yet. */
function owesAnswers({ apply, forwards, cluster, lifecycle }: CoreParts): boolean {
  if (apply.owesAnswers || forwards.count + cluster.fence.count > 0) return true;
  for (const group of lifecycle.openGroups) if (group.isBusy) return true;
  return false;
}
