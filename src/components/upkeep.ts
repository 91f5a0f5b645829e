/** State of the maintenance of one view: its progress, its next step, and the snapshots to drop. */
import type { MaintainedView, MaintenanceSettings, StepResult } from './maintained-view.ts';
import type { Advanced } from './state-views.ts';

const PRIORITY_RANKS = { high: 0, normal: 1, low: 2 } as const;
/** Refolding a view from the first event uses at most about a tenth of the time. */
const RESTART_REST = 10;

export class Upkeep {
  view: MaintainedView;
  readonly #settings: MaintenanceSettings;
  /** Revision up to which every event was folded. */
  #followed = 0;
  #dueMs: number;
  /** Start of the current scheduled pass; undefined when there is none. */
  #passMs: number | undefined;
  #stepMs = 0;
  #failures = 0;
  /** The latest snapshots of steps, oldest first. */
  #places: { readonly name: string; readonly isMilestone: boolean }[] = [];
  #sinceMilestone = 0;
  /** Aborted when the view is no longer maintained. */
  readonly #stop = new AbortController();

  constructor(view: MaintainedView, settings: MaintenanceSettings, nowMs: number) {
    this.#settings = settings;
    this.view = view;
    this.#dueMs = nowMs;
  }

  /** True when the last step failed. */
  get isTroubled(): boolean {
    return this.#failures > 0;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lag(): number {
    return Math.max(0, this.view.applied() - this.#followed);
  }

  /** Replaces the view by the same fold, perhaps in another mode. */
  become(view: MaintainedView, nowMs: number): void {
    if (view.mode !== this.view.mode && !this.isTroubled) this.#dueMs = nowMs;
    this.view = view;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Polled; a scheduled pass with nothing to do counts as done. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#dueMs) return false;
    if (this.lag > 0) return true;
    if (this.view.mode === 'scheduled') this.#dueMs = nowMs + this.#settings.scheduleMs;
    return false;
  }

  /** Returns whether it comes before the other: by priority, then by waiting time. */
  isBefore(other: Upkeep): boolean {
    const ranks = PRIORITY_RANKS[this.view.priority] - PRIORITY_RANKS[other.view.priority];
    return ranks < 0 || (ranks === 0 && this.#stepMs < other.#stepMs);
  }

  begin(nowMs: number): void {
    this.#stepMs = nowMs;
    this.#passMs ??= nowMs;
  }

  /** Returns the result of the step. */
  advanced(
    { at, isWhole, isFromFirst, foldedCount, place }: Advanced & { readonly at: number },
    nowMs: number,
  ): StepResult {
    const isRestart = isFromFirst && foldedCount > 0 && this.#places.length > 0;
    this.#failures = 0;
    if (isRestart) this.#places = [];
    this.#sinceMilestone += foldedCount;
    if (place !== undefined) this.#keep(place);
    const { eagerMs, retryMsMin } = this.#settings;
    const restMs = isRestart ? Math.max(retryMsMin, RESTART_REST * (nowMs - this.#stepMs)) : 0;
    if (!isWhole) {
      this.#dueMs = nowMs + restMs;
      return isRestart ? 'restarted' : 'advanced';
    }
    this.#followed = at;
    const begunMs = this.#passMs ?? nowMs;
    const pauseMs = this.view.mode === 'eager' ? Math.max(eagerMs, nowMs - begunMs) : this.#untilNextMs(begunMs, nowMs);
    this.#dueMs = nowMs + Math.max(restMs, pauseMs);
    this.#passMs = undefined;
    return isRestart ? 'restarted' : 'advanced';
  }

  /** Returns the time until the retry. */
  failed(nowMs: number): number {
    const { retryMsMin, retryMsMax } = this.#settings;
    const retryMs = Math.min(retryMsMax, retryMsMin * 2 ** this.#failures);
    this.#failures++;
    this.rest(nowMs, retryMs);
    return retryMs;
  }

  /** The step did nothing, without a failure. */
  rest(nowMs: number, restMs: number): void {
    this.#dueMs = nowMs + restMs;
    this.#passMs = undefined;
  }

  /**
   * Snapshots that can be dropped. The second-to-last one is kept, because a reader may be using it. One per
   * `milestoneEvents` is kept, too, up to the maximum per fold.
   */
  superseded(): readonly string[] {
    const older = this.#places.splice(0, this.#places.length - 2);
    return older.filter(({ isMilestone }) => !isMilestone).map(({ name }) => name);
  }

  #keep(name: string): void {
    const isMilestone = this.#sinceMilestone >= this.#settings.milestoneEvents;
    this.#places.push({ name, isMilestone });
    if (isMilestone) this.#sinceMilestone = 0;
  }

  /** Scheduled passes start at equal intervals; a pass that takes longer skips some. */
  #untilNextMs(begunMs: number, nowMs: number): number {
    const { scheduleMs } = this.#settings;
    return scheduleMs - ((nowMs - begunMs) % scheduleMs);
  }
}
