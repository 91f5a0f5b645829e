/** The way of a core to its end, so that nobody has to wait for what it leaves. */
import type { CoreParts } from './core-parts.ts';
import type { CorePorts } from './core-ports.ts';
import type { Turns } from './turns.ts';

/** What becomes of a drain of a node that stays. */
export interface DrainNote {
  readonly phase: 'began' | 'handed-over' | 'ended';
  /** Leaderships that others could have, and do not have yet. */
  readonly leads: number;
}

export interface DrainPorts extends Pick<CorePorts, 'monotonicMs' | 'limits'> {
  readonly parts: CoreParts;
  readonly turns: Turns;
  /** Makes a checkpoint of everything that is written by now. */
  readonly checkpoint: () => Promise<void>;
  /** The clearing of rows that is under way, if any. */
  readonly clearing: () => Promise<void> | undefined;
}

/**
 * Hands whatever this node leads to others, while it goes on with everything else: requests of its clients are
 * forwarded to whoever leads by then. Ends when nothing is left, when nobody takes what is left, or when the time is
 * over; and may be repeated.
 */
export async function leaveCore(
  { parts, turns, monotonicMs }: Pick<DrainPorts, 'parts' | 'turns' | 'monotonicMs'>,
  withinMs: number,
): Promise<void> {
  const { cluster, leadership } = parts;
  const endMs = monotonicMs() + withinMs;
  turns.run(() => {
    // Others are to know before they choose an heir.
    cluster.leave();
    leadership.leave();
  });
  const { handOver } = leadership;
  await turns.until(() => handOver.count === 0 || handOver.isInVain(monotonicMs()) || monotonicMs() >= endMs);
  // The front knows by whom its clients are answered from here on, and what is left.
  parts.reporter.flushAll();
}

/**
 * Takes nothing more, hands over the lead of groups with other members, answers what it has taken in, and makes
 * everything durable. Log and store stay open, and nothing is written to them afterwards.
 *
 * Others may go on writing for as long as they like: what they have replicated to here is awaited by nobody, and is
 * heard only for as long as this node owes somebody an answer or leads something.
 */
export async function drainCore(ports: DrainPorts): Promise<void> {
  const { parts, turns, monotonicMs, limits, checkpoint, clearing } = ports;
  const { apply, checkpointer, cluster, forwards, leadership, snapshots, warmer } = parts;
  const beganMs = monotonicMs();
  const isAfter = (ms: number): boolean => monotonicMs() >= beganMs + ms;
  turns.run(() => {
    // The front asks for nothing any more: what is applied is written, and told, at once.
    parts.reporter.follow(true);
    parts.intake.close();
    parts.reads.close();
    parts.trash.close();
    warmer.close();
    snapshots.close();
    cluster.close();
    // What is still led: until another node leads, the requests of all others wait. What is in flight passes to it.
    leadership.leave();
  });
  await turns.until(() => !owesAnswers(parts) || isAfter(limits.outcomeWaitMs));
  turns.run(() => {
    forwards.expire(Number.POSITIVE_INFINITY);
    leadership.giveUp();
  });
  // What is left waits for disks of this node, for a read index or for a lease.
  await turns.until(() => !owesAnswers(parts) || isAfter(limits.owedMs));
  // Nobody waits for ever for a disk that stands still. What becomes of it is for the log, which the next start reads.
  turns.run(() => {
    for (const group of parts.lifecycle.openGroups) if (group.isBusy) leadership.giveUpIn(group);
  });
  const { handOver } = leadership;
  await turns.until(() => handOver.count === 0 || handOver.isInVain(monotonicMs()) || isAfter(limits.handOverMs));
  turns.closeEars();
  await Promise.all([clearing(), warmer.running, snapshots.settled(), cluster.settled(), parts.divergences.settled()]);
  while (checkpointer.isDirty || !apply.isIdle) {
    await Promise.all([turns.until(() => apply.isIdle), checkpoint()]);
  }
  turns.close();
}

/** Whether somebody has asked this node for something, and has no answer. */
function owesAnswers({ apply, forwards, cluster, lifecycle }: CoreParts): boolean {
  if (apply.owesAnswers || forwards.count + cluster.fence.count > 0) return true;
  for (const group of lifecycle.openGroups) if (group.isBusy) return true;
  return false;
}
