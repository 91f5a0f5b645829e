/**
 * Folds State Views in the background: `eager` views follow their log, `scheduled` ones catch up at a fixed interval.
 *
 * ```
 *   views of each database ──▶ due? ──▶ by priority, then by waiting time ──▶ at most so many at a time
 *          (`keep`)              ▲                                                         │ a step
 *                                └── at once, after a while, by the schedule, or later ◀───┘
 * ```
 * This file knows nothing about events, executors or definitions. Nothing depends on it: a read does whatever the
 * maintenance has not done. Due views are found by polling, so no notification can be missed.
 *
 *   F40 At most `foldsMax` views are folded at a time, in steps of bounded length, one step per view at a time.
 *   F41 A view that fails, or whose states are lost, uses a bounded share of the time: it waits longer each time.
 *   F42 After `stop` no step starts, and running steps end with their batch.
 */
import {
  type MaintainedView,
  type MaintenanceFigures,
  type MaintenanceListeners,
  type MaintenanceOutcome,
  type MaintenanceSettings,
  type MaintenanceTime,
  type StepResult,
} from './maintained-view.ts';
import { Upkeep } from './upkeep.ts';
import type { ViewFailureCode } from './view-read.ts';

/** A busy executor is not a failure of the view. */
const BUSY: ViewFailureCode = 'Busy';
const NOT_KEPT = 'Its state was not cached: it is too large, or the disk is almost full';

export class Maintenance {
  readonly #settings: MaintenanceSettings;
  readonly #time: MaintenanceTime;
  readonly #listeners: MaintenanceListeners;
  /** Keyed by database, then by view key. */
  readonly #kept = new Map<string, Map<string, Upkeep>>();
  /** Keyed by view key. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #steps: Record<StepResult, number> = { advanced: 0, restarted: 0, failed: 0 };
  #stopTick: (() => void) | undefined;
  #isStopped = false;

  constructor(settings: MaintenanceSettings, time: MaintenanceTime, listeners: MaintenanceListeners) {
    this.#settings = settings;
    this.#time = time;
    this.#listeners = listeners;
  }

  /** Sets the views of a database to maintain; views that are not in the list are no longer maintained. */
  keep(databaseId: string, views: readonly MaintainedView[]): void {
    if (this.#isStopped) return;
    const nowMs = this.#time.monotonicMs();
    const before = this.#kept.get(databaseId);
    const now = new Map<string, Upkeep>();
    for (const view of views) {
      const known = before?.get(view.key);
      known?.become(view, nowMs);
      now.set(view.key, known ?? new Upkeep(view, this.#settings, nowMs));
    }
    for (const [key, upkeep] of before ?? []) if (!now.has(key)) upkeep.stop();
    if (now.size === 0) this.#kept.delete(databaseId);
    else this.#kept.set(databaseId, now);
    this.#pump();
    this.#tickLater();
  }

  figures(): MaintenanceFigures {
    const maintained = { eager: 0, scheduled: 0 };
    const lags = new Map<string, number>();
    let troubled = 0;
    for (const upkeep of this.#all()) {
      const { view, lag } = upkeep;
      maintained[view.mode]++;
      if (upkeep.isTroubled) troubled++;
      if (view.mode === 'eager') lags.set(view.database, Math.max(lag, lags.get(view.database) ?? 0));
    }
    return { steps: { ...this.#steps }, maintained, troubled, lags };
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTick?.();
    for (const upkeep of this.#all()) upkeep.stop();
    this.#kept.clear();
  }

  /** Resolves when no step runs any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #tickLater(): void {
    if (this.#stopTick !== undefined || this.#kept.size === 0 || this.#isStopped) return;
    this.#stopTick = this.#time.after(this.#settings.eagerMs, () => {
      this.#stopTick = undefined;
      this.#pump();
      this.#tickLater();
    });
  }

  #pump(): void {
    while (this.#running.size < this.#settings.foldsMax) {
      const next = this.#next();
      if (next === undefined) return;
      this.#begin(next);
    }
  }

  #next(): Upkeep | undefined {
    const nowMs = this.#time.monotonicMs();
    let first: Upkeep | undefined;
    for (const upkeep of this.#all()) {
      if (this.#running.has(upkeep.view.key) || !upkeep.isDue(nowMs)) continue;
      if (first === undefined || upkeep.isBefore(first)) first = upkeep;
    }
    return first;
  }

  *#all(): Generator<Upkeep> {
    for (const upkeeps of this.#kept.values()) yield* upkeeps.values();
  }

  #begin(upkeep: Upkeep): void {
    const { key } = upkeep.view;
    const running = this.#run(upkeep).finally(() => {
      this.#running.delete(key);
      this.#pump();
    });
    this.#running.set(key, running);
  }

  async #run(upkeep: Upkeep): Promise<void> {
    const { view } = upkeep;
    upkeep.begin(this.#time.monotonicMs());
    const { signal } = upkeep;
    const outcome = await view.step({ ...this.#settings.step, signal });
    if (signal.aborted) return;
    this.#settle(upkeep, outcome);
    await Promise.all(upkeep.superseded().map((place) => view.drop(place)));
  }

  #settle(upkeep: Upkeep, outcome: MaintenanceOutcome): void {
    const nowMs = this.#time.monotonicMs();
    if (outcome.kind === 'gone' || (outcome.kind === 'failed' && outcome.code === BUSY)) {
      upkeep.rest(nowMs, this.#settings.retryMsMin);
    } else if (outcome.kind === 'failed') {
      this.#fail(upkeep, outcome.message, nowMs);
    } else if (outcome.foldedCount > 0 && outcome.place === undefined) {
      this.#fail(upkeep, NOT_KEPT, nowMs);
    } else {
      if (upkeep.isTroubled) this.#listeners.onMended(upkeep.view);
      this.#steps[upkeep.advanced(outcome, nowMs)]++;
    }
  }

  #fail(upkeep: Upkeep, message: string, nowMs: number): void {
    const isFirst = !upkeep.isTroubled;
    const retryMs = upkeep.failed(nowMs);
    this.#steps.failed++;
    if (isFirst) this.#listeners.onTrouble(upkeep.view, message, retryMs);
  }
}
