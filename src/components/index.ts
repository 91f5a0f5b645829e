/**
 * #components: runs published components: folds, renders and presents State Views, and decides commands.
 *
 * Purpose: artifacts of components on this node; batches of the events that a State View selects, for executors; fold
 * snapshots, from which the next read continues; rendered answers. Reads of a State Change, and the guards that make
 * sure they have not changed when its events are committed. Bodies that presenters create from a rendered state, at the
 * pace of the reader.
 *
 * Not here: the choice of a version and a revision (#service); storage of definitions and components, and the check of
 * constraints (#database); execution and limits of guests (#wasm). Commits go through a port. Everything stored here is
 * a cache of this node, which may be lost or damaged at any time.
 *
 * Failures of a component are answers with a code and a sentence. The invariants F1 to F9, F20 to F23, F30 to F34 and
 * F40 to F43 are in the files that keep them.
 */
export { ArtifactStore, type ComponentSource, type NoArtifact, type RunnableArtifact } from './artifact-store.ts';
export { AskedBindings, type ViewParameters, viewKey } from './asked-bindings.ts';
export { BatchThread } from './batch-thread.ts';
export { runBatches } from './batch-worker.ts';
export { type CacheFigures, CacheFolder } from './cache-folder.ts';
export type {
  CommandRefusal,
  CommandRefusalCode,
  Decision,
  DecisionAsk,
  DecisionFailure,
  Execution,
  ReadableView,
} from './decision.ts';
export { sha256 } from './digest.ts';
export { FoldSnapshots } from './fold-snapshots.ts';
export {
  DEFAULT_MAINTENANCE,
  type MaintainedView,
  type MaintenanceFigures,
  type MaintenanceListeners,
  type MaintenanceOutcome,
  type MaintenanceSettings,
} from './maintained-view.ts';
export { Maintenance } from './maintenance.ts';
export type { PresentationAsked } from './presenter-call.ts';
export { DEFAULT_PRESENTERS, type PresenterSettings } from './presenter-settings.ts';
export { type OpenBody, type Opened, Presenters } from './presenters.ts';
export { type ViewTitle, viewTitle } from './sdk-values.ts';
export {
  DEFAULT_STATE_CHANGES,
  type DecisionBasis,
  type DecisionExecutors,
  type DecisionLog,
  type ExecutionAsk,
  type StateChangeSettings,
  StateChanges,
} from './state-changes.ts';
export {
  type AdvanceStep,
  DEFAULT_STATE_VIEWS,
  type FoldExecutors,
  type FoldFigures,
  type StateViewSettings,
  StateViews,
} from './state-views.ts';
export type { ViewAnswer, ViewFailure, ViewRead } from './view-read.ts';
