/**
 * Events of the core that become metrics. The core runs in another thread than the metrics: it counts, and the front
 * gets the counts once a second.
 */
import type { Input, RaftState, Step } from '#raft';
import type { PersistedFacts } from '#storage';
import type { LostCampaign } from '../group/campaigns.ts';

/** Events that the core counts or times. The methods must not throw. */
export interface CoreObserver {
  /** A group of this node has a new leader. */
  elected(): void;
  /** A replica of this node follows a new leader. */
  followed(): void;
  /** An election of this node failed. */
  campaignFailed(result: LostCampaign): void;
  committed(entryCount: number): void;
  synced(facts: PersistedFacts): void;
  written(facts: WrittenFacts): void;
  /** Every step of every group, for tests; may throw, unlike the others, and then stops the core. */
  stepped?(before: RaftState, input: Input, after: Step): void;
}

/** One batch of the store. */
export interface WrittenFacts {
  readonly entryCount: number;
  readonly elapsedMs: number;
}

/** Counts and durations since they were last taken. */
export interface CoreCounts {
  readonly elections: number;
  readonly followings: number;
  /** Failed elections of this node. */
  readonly lostCampaigns: Readonly<Record<LostCampaign, number>>;
  readonly committed: number;
  /** Bytes written to the log, and the duration of each sync. */
  readonly logBytes: number;
  readonly syncsMs: readonly number[];
  /** Entries in batches of the store, and the duration of each batch. */
  readonly applied: number;
  readonly writesMs: readonly number[];
}

export class CoreCounter implements CoreObserver {
  #counts = nothing();

  elected(): void {
    this.#counts.elections += 1;
  }

  followed(): void {
    this.#counts.followings += 1;
  }

  campaignFailed(result: LostCampaign): void {
    this.#counts.lostCampaigns[result] += 1;
  }

  committed(entryCount: number): void {
    this.#counts.committed += entryCount;
  }

  synced({ bytes, elapsedMs }: PersistedFacts): void {
    this.#counts.logBytes += bytes;
    this.#counts.syncsMs.push(elapsedMs);
  }

  written({ entryCount, elapsedMs }: WrittenFacts): void {
    this.#counts.applied += entryCount;
    this.#counts.writesMs.push(elapsedMs);
  }

  /** Returns everything counted since the last call. */
  take(): CoreCounts {
    const counts = this.#counts;
    this.#counts = nothing();
    return counts;
  }
}

function nothing() {
  const [syncsMs, writesMs]: [number[], number[]] = [[], []];
  const lostCampaigns = { lost: 0, timed_out: 0, not_held: 0 };
  return { elections: 0, followings: 0, lostCampaigns, committed: 0, logBytes: 0, syncsMs, applied: 0, writesMs };
}
