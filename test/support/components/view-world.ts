/** State Views with their executors and folders for a test, and databases to fold. */
import { join } from 'node:path';
import {
  CacheFolder,
  DEFAULT_STATE_VIEWS,
  type FoldExecutors,
  FoldSnapshots,
  type RunnableArtifact,
  type StateViewSettings,
  StateViews,
  type ViewRead,
} from '#components';
import { ALL } from '#model';
import type { ExecutorSettings, Executors } from '#wasm';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../known-database.ts';
import { memoryKv } from '../memory-kv.ts';
import { tempDir } from '../temp-dir.ts';
import { executors } from '../wasm/executors.ts';

export class ViewWorld implements AsyncDisposable {
  readonly #dir = tempDir();
  readonly running: Executors;
  readonly artifacts: string = join(this.#dir.path, 'artifacts');
  #folders = 0;

  constructor(settings: Partial<ExecutorSettings> = {}, nowMs?: () => number) {
    this.running = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 }, ...settings }, nowMs);
  }

  /** State Views with a new folder for snapshots. */
  async views(settings: Partial<StateViewSettings> = {}, by: FoldExecutors = this.running): Promise<StateViews> {
    const path = join(this.#dir.path, `folds-${this.#folders++}`);
    const folder = await CacheFolder.open({ path, bytesMax: 1e6, memoryBytesMax: 1e6 });
    return new StateViews(by, new FoldSnapshots(folder), { ...DEFAULT_STATE_VIEWS, snapshotEventsMin: 1, ...settings });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running[Symbol.asyncDispose]();
    this.#dir[Symbol.dispose]();
  }
}

/** Reads the whole database, unless `more` says otherwise. */
export function readOf(known: KnownDatabase, artifact: RunnableArtifact, more: Partial<ViewRead> = {}): ViewRead {
  return {
    source: known.source,
    databaseId: 'a-database',
    view: 'view/v1',
    foldEpoch: 1,
    artifact,
    selector: ALL,
    order: 'revision',
    parameters: new Map(),
    at: known.revision,
    ...more,
  };
}

/** A database of `count` transactions, one per second. */
export async function databaseOf(
  count: number,
  eventsOf: (n: number) => readonly EventSketch[] = (n) => [numbered(n)],
): Promise<KnownDatabase> {
  const made = new KnownDatabase(memoryKv());
  for (let n = 0; n < count; n++) made.apply(eventsOf(n), CREATED_AT_MS + 1000 * n);
  await made.flush();
  return made;
}

/** An event with JSON data. */
export function numbered(n: number, json: string = `"${n}"`, source: string = 'a'): EventSketch {
  return { source, type: 't', data: new TextEncoder().encode(json), dataKind: 1 };
}
