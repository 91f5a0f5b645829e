/**
 * Checkpoints: makes applied state durable in the store, and then tells the log, so that it may forget.
 *
 * The order is everything (C7): files of the store first, and only when they are synced the checkpoint records. The
 * marks are taken before the sync begins and are of batches whose write had resolved, so the sync covers them.
 */
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { DurableMark } from '../machine.ts';

export interface CheckpointPorts {
  readonly limits: CoreLimits;
  /** Makes every write that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  /** Tells the log, once the store is durable. */
  readonly record: (group: Group, mark: DurableMark) => void;
}

export class Checkpointer {
  readonly #ports: CheckpointPorts;
  #dirty = new Map<Group, DurableMark>();
  #bytes = 0;
  #deadlineMs: number | undefined;
  #running: Promise<void> | undefined;

  constructor(ports: CheckpointPorts) {
    this.#ports = ports;
  }

  /** When the next checkpoint is due; undefined when nothing is dirty or one is being made. */
  get deadlineMs(): number | undefined {
    return this.#running === undefined ? this.#deadlineMs : undefined;
  }

  /** Whether something is written that no finished checkpoint covers. */
  get isDirty(): boolean {
    return this.#running !== undefined || this.#dirty.size > 0;
  }

  /** A batch with this group's state was written, from entries of so many bytes. */
  markDirty(group: Group, bytes: number, nowMs: number): void {
    // The log does not know that far yet, and may hold more that counts: the snapshot is its own checkpoint.
    if (group.isInstalling) return;
    this.#dirty.set(group, group.written);
    this.#bytes += bytes;
    this.#deadlineMs ??= nowMs + this.#ports.limits.checkpointIntervalMs;
    if (this.#bytes >= this.#ports.limits.checkpointBytes) this.#deadlineMs = nowMs;
  }

  isDue(nowMs: number): boolean {
    return this.deadlineMs !== undefined && this.deadlineMs <= nowMs;
  }

  /** Makes one checkpoint of everything that is dirty now, or waits for the one that is being made. */
  async run(): Promise<void> {
    this.#running ??= this.#make();
    await this.#running;
  }

  async #make(): Promise<void> {
    const marks = this.#dirty;
    this.#dirty = new Map();
    this.#bytes = 0;
    this.#deadlineMs = undefined;
    await this.#ports.syncStore();
    for (const [group, mark] of marks) {
      // The log may have begun anew behind the mark meanwhile: then it knows of a later one.
      if (group.isOpen && mark.index > group.logStart) this.#ports.record(group, mark);
    }
    this.#running = undefined;
  }
}
