/**
 * #components: what users publish, put to use: State Views folded, rendered and presented, commands decided.
 *
 * For: artifacts of components on this node; the events that a State View selects, in its order and up to its cut,
 * given to executors in batches; fold snapshots, from which the next read goes on; the rendered answer. What a State
 * Change reads while it decides, and what of it must not have changed when its events are committed. Bodies that
 * presenters make of a rendered state, as fast as they are read.
 *
 * Not here: which version of a definition is used, and at which revision (#service); where definitions and the bytes of
 * components are kept, and where constraints are decided (#database); how a guest is run and limited (#wasm). What is
 * committed is handed to a port, and all that is kept here is a cache of this node: it may be lost or damaged at any
 * time.
 *
 * What goes wrong with a component is an answer with a code and a sentence. The invariants F1 to F9, F20 to F23,
 * F30 to F34 and F40 to F43 stand where they are kept.
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
  DecisionFailureCode,
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
export { DEFAULT_PRESENTERS, PRESENTER_EXECUTORS, type PresenterSettings } from './presenter-settings.ts';
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
