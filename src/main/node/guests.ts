/**
 * Runs components on a node: guest processes for each kind of component, a process that checks publications, and caches
 * on disk.
 *
 * ```
 *   <data>/guests/artifacts    components as executors run them     \ either may be removed while the node is stopped
 *   <data>/guests/states       folded states to continue from       /
 * ```
 * Nothing of this exists before the first component is compiled or used, so a node without components has no extra
 * processes. A decision waits in its executor for the State Views that it reads, and a presenter for its reader. Each
 * kind has its own executors, so that no call waits for an executor that it occupies itself.
 */
import { join } from 'node:path';
import { storeDirectoryOf } from '#cluster';
import {
  ArtifactStore,
  AskedBindings,
  BatchThread,
  type CacheFigures,
  CacheFolder,
  DEFAULT_MAINTENANCE,
  DEFAULT_PRESENTERS,
  DEFAULT_STATE_CHANGES,
  DEFAULT_STATE_VIEWS,
  type FoldFigures,
  FoldSnapshots,
  type MaintainedView,
  Maintenance,
  type MaintenanceFigures,
  type MaintenanceListeners,
  Presenters,
  StateChanges,
  StateViews,
} from '#components';
import type { Logger } from '#observability';
import { type Components, systemTimers } from '#service';
import {
  type CallLimits,
  type CallListener,
  DEFAULT_EXECUTORS,
  DEFAULT_LIMITS,
  type ExecutorFigures,
  Executors,
  type Limited,
  Publisher,
  type TimeLimits,
} from '#wasm';
import { executorCount } from '../process/memory-limit.ts';
import { usableProcessors } from '../process/processors.ts';
import type { Config } from '../settings/settings.ts';

type GuestSettings = Pick<Config, Extract<keyof Config, 'dataDir' | `guest${string}` | `maintenance${string}`>>;

export interface GuestFigures {
  readonly pools: Readonly<Record<'views' | 'changes' | 'presenters', ExecutorFigures>>;
  readonly caches: Readonly<Record<'artifacts' | 'states', CacheFigures>>;
  readonly folds: FoldFigures;
  readonly maintenance: MaintenanceFigures;
}

/** Dependencies and listeners. */
export interface GuestParts {
  readonly settings: GuestSettings;
  /** Returns whether the disk has space for cached files. */
  readonly mayWrite: () => boolean;
  readonly maintenance: MaintenanceListeners;
  /** Receives the digest of each component that the node has compiled. */
  readonly onComponent: (digest: string) => void;
  readonly onCall?: CallListener;
}

interface Opened extends Components {
  readonly views: StateViews;
  readonly maintenance: Maintenance;
  readonly folders: Readonly<Record<keyof GuestFigures['caches'], CacheFolder>>;
  readonly pools: Readonly<Record<keyof GuestFigures['pools'], Executors>>;
  /** The checks of publications, and the reading of events. */
  readonly others: readonly AsyncDisposable[];
}

const FOLDER = 'guests';
const MIB = 2 ** 20;
/** Memory for recently used artifacts: sent to an executor when it starts, and again after it has evicted them. */
const ARTIFACT_MEMORY_BYTES = 128 * MIB;
const STATE_MEMORY_BYTES = 32 * MIB;
/** Maximum number of parameter combinations of a maintained view that are folded in the background. */
const ASKED_BINDINGS_MAX = 100;
/** Next to this file, with the same extension (`.ts` from source, `.js` when built). */
const BATCH_WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './batch-worker.ts' : './batch-worker.js',
  import.meta.url,
);
/** Limits of a smoke call, which checks a component when it is published. */
const SMOKE: Limited = {
  limits: { fuel: 10_000_000, outputBytesMax: MIB, hostCallsMax: 0 },
  wasi: { timeNs: 0n, seed: 0n },
};
const PRESENTER_FUEL_FACTOR = DEFAULT_PRESENTERS.guest.limits.fuel / DEFAULT_STATE_VIEWS.guest.limits.fuel;

export class Guests implements AsyncDisposable {
  readonly #parts: GuestParts;
  readonly #settings: GuestSettings;
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;

  constructor(parts: GuestParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
  }

  /** Opens the caches and starts the processes. What was opened is kept; the next caller retries a failed folder. */
  async open(): Promise<Components> {
    this.#opening ??= this.#open();
    try {
      return await this.#opening;
    } catch (failure) {
      this.#opening = undefined;
      throw failure;
    }
  }

  /** Undefined until a component is used. */
  figures(): GuestFigures | undefined {
    if (this.#opened === undefined) return undefined;
    const { pools, folders, views, maintenance } = this.#opened;
    const { changes, presenters } = pools;
    return {
      pools: { views: pools.views.figures(), changes: changes.figures(), presenters: presenters.figures() },
      caches: { artifacts: folders.artifacts.figures(), states: folders.states.figures() },
      folds: views.figures(),
      maintenance: maintenance.figures(),
    };
  }

  /** Stops folding State Views in the background. */
  stopMaintenance(): void {
    this.#opened?.maintenance.stop();
  }

  /** Cancels all calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.stopMaintenance();
    const { pools = {}, others = [] } = this.#opened ?? {};
    await Promise.all([...Object.values<AsyncDisposable>(pools), ...others].map((each) => each[Symbol.asyncDispose]()));
    await this.#opened?.maintenance.ended();
  }

  async #open(): Promise<Opened> {
    const [artifacts, states] = await Promise.all([
      this.#folder('artifacts', ARTIFACT_MEMORY_BYTES),
      this.#folder('states', STATE_MEMORY_BYTES),
    ]);
    const publisher = new Publisher();
    const executors = (): Executors =>
      new Executors({ ...DEFAULT_EXECUTORS, count: this.#count, onCall: this.#parts.onCall });
    // Presenters have their own, so that a slow reader blocks no fold and no decision.
    const pools = { views: executors(), changes: executors(), presenters: executors() };
    const batches = new BatchThread(BATCH_WORKER, storeDirectoryOf(this.#settings.dataDir));
    const { guestMemoryBytes, maintenanceFolds: foldsMax, maintenanceScheduleMs: scheduleMs } = this.#settings;
    const limits = { ...DEFAULT_LIMITS, memoryBytesMax: guestMemoryBytes };
    const settings = { ...DEFAULT_STATE_VIEWS, guest: this.#bounds(DEFAULT_STATE_VIEWS.guest.limits) };
    const views = new StateViews(pools.views, new FoldSnapshots(states), settings, batches);
    this.#opened = {
      folders: { artifacts, states },
      pools,
      others: [publisher, batches],
      artifacts: new ArtifactStore(artifacts, publisher, { limits, smoke: SMOKE, onReady: this.#parts.onComponent }),
      views,
      asked: new AskedBindings(states, ASKED_BINDINGS_MAX),
      maintenance: new Maintenance(
        { ...DEFAULT_MAINTENANCE, foldsMax, scheduleMs },
        systemTimers,
        this.#parts.maintenance,
      ),
      changes: new StateChanges(pools.changes, views, {
        ...DEFAULT_STATE_CHANGES,
        guest: this.#bounds(DEFAULT_STATE_CHANGES.guest.limits),
      }),
      presenters: this.#presenters(pools.presenters),
    };
    return this.#opened;
  }

  #folder(name: string, memoryBytesMax: number): Promise<CacheFolder> {
    const { dataDir, guestCacheBytes } = this.#settings;
    const path = join(dataDir, FOLDER, name);
    return CacheFolder.open({ path, bytesMax: guestCacheBytes / 2, memoryBytesMax, mayWrite: this.#parts.mayWrite });
  }

  get #count(): number {
    const { guestExecutors } = this.#settings;
    return guestExecutors === 'auto' ? executorCount(usableProcessors()) : guestExecutors;
  }

  /** The specification limits the time of a presentation; the limits for one write are those of other calls. */
  #presenters(executors: Executors): Presenters {
    const { guest } = DEFAULT_PRESENTERS;
    const limits = { ...guest.limits, fuel: this.#settings.guestFuel * PRESENTER_FUEL_FACTOR };
    const time = { ...guest.time, quietCpuMs: this.#settings.guestCpuMs };
    const settings = { ...DEFAULT_PRESENTERS, runningMax: this.#count, guest: { limits, time } };
    return new Presenters(executors, systemTimers, settings);
  }

  #bounds(limits: CallLimits): { readonly limits: CallLimits; readonly time: TimeLimits } {
    const { guestFuel, guestWallMs, guestCpuMs } = this.#settings;
    return { limits: { ...limits, fuel: guestFuel }, time: { wallMs: guestWallMs, cpuMs: guestCpuMs } };
  }
}

/** Logs when a State View cannot be folded in the background, and when it can again. */
export function maintenanceLog(logger: Logger): MaintenanceListeners {
  return {
    onTrouble: (view, message, retryMs) => logger.warn('view-not-maintained', { ...titleOf(view), message, retryMs }),
    onMended: (view) => logger.info('view-maintained-again', titleOf(view)),
  };
}

function titleOf({ database, view, mode }: MaintainedView): Readonly<Record<string, string>> {
  return { database, view, mode };
}
