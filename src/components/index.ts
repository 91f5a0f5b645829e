/**
 * #components: what users publish, put to use: State Views folded and rendered.
 *
 * For: artifacts of components on this node; the events that a State View selects, in its order and up to its cut,
 * given to executors in batches; fold snapshots, from which the next read goes on; the rendered answer.
 *
 * Not here: which version of a definition is read, and at which revision (#service); where definitions and the bytes of
 * components are kept (#database); how a guest is run and limited (#wasm). Nothing here writes to a database, and all
 * that it keeps is a cache of this node: it may be lost or damaged at any time.
 *
 * What goes wrong with a component is an answer with a code and a sentence. The invariants F1 to F7 stand where they
 * are kept.
 */
export {
  type ArtifactOptions,
  ArtifactStore,
  type ComponentSource,
  type NoArtifact,
  type RunnableArtifact,
} from './artifact-store.ts';
export type { GuestBounds } from './batch-fold.ts';
export { type CacheFigures, CacheFolder, type CacheFolderOptions } from './cache-folder.ts';
export type { BatchBounds } from './event-batches.ts';
export { FoldSnapshots } from './fold-snapshots.ts';
export { DEFAULT_STATE_VIEWS, type FoldExecutors, type StateViewSettings, StateViews } from './state-views.ts';
export type { ViewAnswer, ViewFailure, ViewFailureCode, ViewRead } from './view-read.ts';
