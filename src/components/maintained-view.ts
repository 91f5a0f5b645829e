/** A State View that is folded in the background: types and settings of the maintenance. */
import type { Timers } from '#base';
import type { MaintenanceMode, Priority } from '#model';
import type { Advanced, AdvanceStep } from './state-views.ts';
import type { ViewFailure } from './view-read.ts';

/** One fold: a version with its epoch, and parameter values. */
export interface MaintainedView {
  /** Identifies the fold; when the key changes, the maintenance starts again. */
  readonly key: string;
  readonly mode: Exclude<MaintenanceMode, 'lazy'>;
  readonly priority: Priority;
  readonly database: string;
  /** Name and version. */
  readonly view: string;
  /** The revision that can be read here. */
  applied(): number;
  /** Folds one step towards that revision. Does not reject. */
  step(step: AdvanceStep): Promise<MaintenanceOutcome>;
  /** Drops a snapshot that a step has stored. */
  drop(place: string): Promise<void>;
}

export type MaintenanceOutcome =
  /** `at` is the target revision of the step. */
  | (Advanced & { readonly at: number })
  | ViewFailure
  /** It is no longer here; the list of views will be updated, too. */
  | { readonly kind: 'gone' };

export interface MaintenanceSettings {
  /** Maximum number of concurrent folds. */
  readonly foldsMax: number;
  /** Interval of checks of an eager view that is up to date. */
  readonly eagerMs: number;
  /** Interval between the starts of two passes over a scheduled view. */
  readonly scheduleMs: number;
  readonly step: Omit<AdvanceStep, 'signal'>;
  /** Wait after a failure, doubled with each further one. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** A snapshot every so many events is kept for readers of earlier revisions; others until there are newer ones. */
  readonly milestoneEvents: number;
}

const KIB = 1024;

export const DEFAULT_MAINTENANCE: MaintenanceSettings = {
  foldsMax: 2,
  eagerMs: 250,
  scheduleMs: 60_000,
  // A reader waits for one batch at most.
  step: { eventsMax: 10_000, batch: { eventsMax: 200, bytesMax: 64 * KIB } },
  retryMsMin: 1_000,
  retryMsMax: 600_000,
  milestoneEvents: 100_000,
};

export type MaintenanceTime = Pick<Timers, 'after' | 'monotonicMs'>;

export interface MaintenanceListeners {
  /** Called for the first failure of a view since its last success, with the time until the retry. */
  onTrouble(view: MaintainedView, message: string, retryMs: number): void;
  onMended(view: MaintainedView): void;
}

export type StepResult = 'advanced' | 'restarted' | 'failed';

export interface MaintenanceFigures {
  /** Counts since the start. */
  readonly steps: Readonly<Record<StepResult, number>>;
  readonly maintained: Readonly<Record<MaintainedView['mode'], number>>;
  /** Number of these views whose last step failed. */
  readonly troubled: number;
  /** Lag in revisions of the eager view that lags most, by database. */
  readonly lags: ReadonlyMap<string, number>;
}
