/**
 * Checkpoints: make applied state durable in the store, and then let the log forget it.
 *
 * The order matters (C7): first the files of the store are synced, then the checkpoint records are written. The marks
 * are taken before the sync starts, from batches whose write had resolved, so the sync covers them.
 */
import type { KvStore } from '#kv';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { DurableMark } from '../machine.ts';
import type { LogFeed } from './log-feed.ts';

export interface CheckpointPorts {
  readonly kv: Pick<KvStore, 'historyEnd'>;
  readonly limits: CoreLimits;
  /** Makes every completed write durable. */
  readonly syncStore: () => Promise<void>;
  readonly feed: Pick<LogFeed, 'checkpoint'>;
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

  /** Time of the next checkpoint; undefined when nothing is dirty or one is in progress. */
  get deadlineMs(): number | undefined {
    return this.#running === undefined ? this.#deadlineMs : undefined;
  }

  /** True when a write is not covered by a finished checkpoint. */
  get isDirty(): boolean {
    return this.#running !== undefined || this.#dirty.size > 0;
  }

  /** A batch with state of this group was written, from entries of so many bytes. */
  markDirty(group: Group, bytes: number, nowMs: number): void {
    // The log may be behind the snapshot and still have entries that count; installing the snapshot makes its own
    // checkpoint.
    if (group.isInstalling) return;
    // Nothing is written meanwhile, so the history ends where the state does.
    this.#dirty.set(group, { ...group.written, history: this.#ports.kv.historyEnd(group.id) });
    this.#bytes += bytes;
    this.#deadlineMs ??= nowMs + this.#ports.limits.checkpointIntervalMs;
    if (this.#bytes >= this.#ports.limits.checkpointBytes) this.#deadlineMs = nowMs;
  }

  isDue(nowMs: number): boolean {
    return this.deadlineMs !== undefined && this.deadlineMs <= nowMs;
  }

  /** Makes one checkpoint of everything that is dirty now, or waits for the one in progress. */
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
      // The log may have restarted after the mark meanwhile; then it already knows a later one.
      if (group.isOpen && mark.index > group.logStart) this.#ports.feed.checkpoint(group.id, mark);
    }
    this.#running = undefined;
  }
}
