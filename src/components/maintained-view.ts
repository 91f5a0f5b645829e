/** A State View that is kept up while nobody reads it, and how: what a maintenance is given. */
import type { MaintenanceMode, Priority } from '#model';
import type { Advanced, AdvanceStep } from './state-views.ts';
import type { ViewFailure } from './view-read.ts';

/** One fold: a version with its epoch, and the values of its parameters. */
export interface MaintainedView {
  /** Everything that decides which fold it is: after a change of it, nothing counts that was before. */
  readonly key: string;
  readonly mode: Exclude<MaintenanceMode, 'lazy'>;
  readonly priority: Priority;
  readonly database: string;
  /** Name and version. */
  readonly view: string;
  /** The revision that can be read here. */
  applied(): number;
  /** A step towards that revision. Does not reject. */
  step(step: AdvanceStep): Promise<MaintenanceOutcome>;
  /** A snapshot that a step has kept is of no use any more. */
  drop(place: string): Promise<void>;
}

export type MaintenanceOutcome =
  /** `at` is the revision that it went for. */
  | (Advanced & { readonly at: number })
  | ViewFailure
  /** It is not here any more; whoever keeps the list of views will hear of it, too. */
  | { readonly kind: 'gone' };

export interface MaintenanceSettings {
  /** Views that are folded at a time. */
  readonly foldsMax: number;
  /** An eager view that has come to the end of its log is looked at again after so long. */
  readonly eagerMs: number;
  /** From the beginning of a pass over a scheduled view to that of the next one. */
  readonly scheduleMs: number;
  readonly step: Omit<AdvanceStep, 'signal'>;
  /** After a failure, doubled with each further one. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** A snapshot each so many events stays, for readers of earlier revisions; others until there are newer ones. */
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

/** Time that tests decide. */
export interface MaintenanceTime {
  /** Runs something once, after so many milliseconds. Returns how to stop it. */
  after(delayMs: number, run: () => void): () => void;
  monotonicMs(): number;
}

export interface MaintenanceListeners {
  /** A view could not be folded, for the first time since it last could; it is tried again after so long. */
  onTrouble(view: MaintainedView, message: string, retryMs: number): void;
  onMended(view: MaintainedView): void;
}

/** What became of steps. */
export const STEP_RESULTS = ['advanced', 'restarted', 'failed'] as const;
export type StepResult = (typeof STEP_RESULTS)[number];

export interface MaintenanceFigures {
  /** Since the start. */
  readonly steps: Readonly<Record<StepResult, number>>;
  readonly maintained: Readonly<Record<MaintainedView['mode'], number>>;
  /** Of these, those that failed the last time. */
  readonly troubled: number;
  /** By database, the revisions that its eager view which is furthest behind has not seen. */
  readonly lags: ReadonlyMap<string, number>;
}
