/**
 * What a node runs components with: processes for each kind of component, a process that publishes, and folders of what
 * can be made again.
 *
 * ```
 *   <data>/guests/artifacts    components as executors run them     \ either may be removed while the node is stopped
 *   <data>/guests/states       folded states to go on from          /
 * ```
 * Nothing of it exists before the first component is compiled or used: a node without components has no process more,
 * and its start reads no folder more. A decision waits in its executor for the State Views that it reads, and a
 * presenter for its reader, so each kind has executors of its own and nobody waits for himself.
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
  PRESENTER_EXECUTORS,
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
  type ExecutorSettings,
  Executors,
  type Limited,
  Publisher,
  type TimeLimits,
} from '#wasm';
import { executorCount } from './memory-limit.ts';
import { usableProcessors } from './processors.ts';
import type { Config } from './settings.ts';

type GuestSettings = Pick<
  Config,
  | 'dataDir'
  | 'guestExecutors'
  | 'guestMemoryBytes'
  | 'guestFuel'
  | 'guestCpuMs'
  | 'guestWallMs'
  | 'guestCacheBytes'
  | 'maintenanceFolds'
  | 'maintenanceScheduleMs'
>;

export interface GuestFigures {
  readonly pools: Readonly<Record<'views' | 'changes' | 'presenters', ExecutorFigures>>;
  readonly caches: Readonly<Record<'artifacts' | 'states', CacheFigures>>;
  readonly folds: FoldFigures;
  readonly maintenance: MaintenanceFigures;
}

/** What a node runs components with, and whom it tells. */
export interface GuestParts {
  readonly settings: GuestSettings;
  /** Whether the disk has room for what can be made again. */
  readonly mayWrite: () => boolean;
  readonly maintenance: MaintenanceListeners;
  /** Receives the digest of each component that the node can run from now on. */
  readonly onComponent: (digest: string) => void;
  readonly onCall?: CallListener;
}

interface Opened extends Components {
  readonly views: StateViews;
  readonly maintenance: Maintenance;
  readonly folders: { readonly artifacts: CacheFolder; readonly states: CacheFolder };
}

const FOLDER = 'guests';
const MIB = 2 ** 20;
/** Of what was used lately; artifacts are sent to an executor when it begins, and when it has had too many others. */
const ARTIFACT_MEMORY_BYTES = 128 * MIB;
const STATE_MEMORY_BYTES = 32 * MIB;
/** Of a view that is kept up, folds of so many values of its parameters are. */
const ASKED_BINDINGS_MAX = 100;
/** Beside this file, and under the same extension: `.ts` from source, `.js` when built. */
const BATCH_WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './batch-worker.ts' : './batch-worker.js',
  import.meta.url,
);
/** A smoke call has this much fuel. */
const SMOKE: Limited = {
  limits: { fuel: 10_000_000, outputBytesMax: MIB, hostCallsMax: 0 },
  wasi: { timeNs: 0n, seed: 0n },
};
const PRESENTER_FUEL_FACTOR = DEFAULT_PRESENTERS.guest.limits.fuel / DEFAULT_STATE_VIEWS.guest.limits.fuel;

export class Guests implements AsyncDisposable {
  readonly #settings: GuestSettings;
  readonly #mayWrite: () => boolean;
  readonly #listeners: MaintenanceListeners;
  readonly #onComponent: (digest: string) => void;
  readonly #onCall: CallListener | undefined;
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;
  #pools: { views: Executors; changes: Executors; presenters: Executors } | undefined;
  #publisher: Publisher | undefined;
  #batches: BatchThread | undefined;

  constructor({ settings, mayWrite, maintenance, onComponent, onCall }: GuestParts) {
    this.#settings = settings;
    this.#mayWrite = mayWrite;
    this.#listeners = maintenance;
    this.#onComponent = onComponent;
    this.#onCall = onCall;
  }

  /** What was opened stays; a folder that cannot be had is tried again by the next who asks. */
  async open(): Promise<Components> {
    this.#opening ??= this.#open();
    try {
      return await this.#opening;
    } catch (failure) {
      this.#opening = undefined;
      throw failure;
    }
  }

  /** Undefined: no component was used so far. */
  figures(): GuestFigures | undefined {
    if (this.#opened === undefined || this.#pools === undefined) return undefined;
    const { views, changes, presenters } = this.#pools;
    const { artifacts, states } = this.#opened.folders;
    const { views: folded, maintenance } = this.#opened;
    return {
      pools: { views: views.figures(), changes: changes.figures(), presenters: presenters.figures() },
      caches: { artifacts: artifacts.figures(), states: states.figures() },
      folds: folded.figures(),
      maintenance: maintenance.figures(),
    };
  }

  /** No State View is brought further from now on, other than by its readers. */
  stopMaintenance(): void {
    this.#opened?.maintenance.stop();
  }

  /** Calls that wait or run are given up. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.stopMaintenance();
    const pools = Object.values(this.#pools ?? {});
    const others = [this.#publisher, this.#batches].filter((each) => each !== undefined);
    await Promise.all([...pools, ...others].map(closed));
    await this.#opened?.maintenance.ended();
  }

  async #open(): Promise<Opened> {
    const [artifacts, states] = await Promise.all([
      this.#folder('artifacts', ARTIFACT_MEMORY_BYTES),
      this.#folder('states', STATE_MEMORY_BYTES),
    ]);
    const publisher = new Publisher();
    const pools = this.#executors();
    const batches = new BatchThread(BATCH_WORKER, storeDirectoryOf(this.#settings.dataDir));
    this.#publisher = publisher;
    this.#pools = pools;
    this.#batches = batches;
    const limits = { ...DEFAULT_LIMITS, memoryBytesMax: this.#settings.guestMemoryBytes };
    const settings = { ...DEFAULT_STATE_VIEWS, guest: this.#bounds(DEFAULT_STATE_VIEWS.guest.limits) };
    const views = new StateViews(pools.views, new FoldSnapshots(states), settings, batches);
    this.#opened = {
      folders: { artifacts, states },
      artifacts: new ArtifactStore(artifacts, publisher, { limits, smoke: SMOKE, onReady: this.#onComponent }),
      views,
      asked: new AskedBindings(states, ASKED_BINDINGS_MAX),
      maintenance: this.#maintenance(),
      changes: this.#changes(pools.changes, views),
      presenters: this.#presenters(pools.presenters),
    };
    return this.#opened;
  }

  #maintenance(): Maintenance {
    const { maintenanceFolds: foldsMax, maintenanceScheduleMs: scheduleMs } = this.#settings;
    return new Maintenance({ ...DEFAULT_MAINTENANCE, foldsMax, scheduleMs }, systemTimers, this.#listeners);
  }

  #folder(name: string, memoryBytesMax: number): Promise<CacheFolder> {
    const { dataDir, guestCacheBytes } = this.#settings;
    const path = join(dataDir, FOLDER, name);
    return CacheFolder.open({ path, bytesMax: guestCacheBytes / 2, memoryBytesMax, mayWrite: this.#mayWrite });
  }

  #executors(): { views: Executors; changes: Executors; presenters: Executors } {
    const made = (settings: ExecutorSettings): Executors =>
      new Executors({ ...settings, count: this.#count, onCall: this.#onCall });
    return {
      views: made(DEFAULT_EXECUTORS),
      changes: made(DEFAULT_EXECUTORS),
      presenters: made(PRESENTER_EXECUTORS),
    };
  }

  get #count(): number {
    const { guestExecutors } = this.#settings;
    return guestExecutors === 'auto' ? executorCount(usableProcessors()) : guestExecutors;
  }

  #changes(executors: Executors, views: StateViews): StateChanges {
    const guest = this.#bounds(DEFAULT_STATE_CHANGES.guest.limits);
    return new StateChanges(executors, views, { ...DEFAULT_STATE_CHANGES, guest });
  }

  /** The times of a presentation are the specification's; what it may compute for one write is as for other calls. */
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

async function closed(one: AsyncDisposable): Promise<void> {
  await one[Symbol.asyncDispose]();
}

/** Logs a State View that cannot be folded in the background, and when it can again. */
export function maintenanceLog(logger: Logger): MaintenanceListeners {
  return {
    onTrouble: (view, message, retryMs) => logger.warn('view-not-maintained', { ...titleOf(view), message, retryMs }),
    onMended: (view) => logger.info('view-maintained-again', titleOf(view)),
  };
}

function titleOf({ database, view, mode }: MaintainedView): Readonly<Record<string, string>> {
  return { database, view, mode };
}
