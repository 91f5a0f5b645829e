/**
 * Watches the free space of the data directory: asks the file system, decides, and makes or releases the ballast.
 *
 * It has no timer: whoever owns it calls `check` a few times a second, and asks `level` before it takes a write. Open
 * it before LevelDB: a full disk keeps LevelDB from opening at all, and the ballast is released here.
 */
import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Ballast } from './ballast.ts';
import { type Disk, nodeDisk } from './disk.ts';
import {
  capacityNeeded,
  type DiskLevel,
  type DiskNeeds,
  type DiskSpace,
  type DiskThresholds,
  decideDisk,
  defaultThresholds,
} from './disk-level.ts';
import { compactionBytesMax } from './level-store.ts';
import { gone } from './storage-failure.ts';
import { SEGMENT_BYTES_DEFAULT } from './wal.ts';

const BALLAST_NAME = 'ballast';
/** MiB of ballast made per check: at four checks a second, 1 GiB takes about two minutes and no write notices. */
const STEPS_PER_CHECK = 2;

export interface DiskGuardOptions {
  /** What is not given follows from the size of the disk: see `defaultThresholds`. */
  readonly thresholds?: Partial<DiskThresholds>;
  /** From which the defaults follow; what is not given is what log and store do by default. */
  readonly needs?: Partial<DiskNeeds>;
  /** Default: the file system that holds the directory. */
  readonly probe?: (directory: string) => DiskSpace;
  readonly disk?: Disk;
  /** Directories that must be there for as long as the guard is. */
  readonly directories?: readonly string[];
}

export interface DiskReport extends DiskSpace {
  readonly level: DiskLevel;
  readonly ballastHeldBytes: number;
}

export class DiskGuard {
  readonly #directory: string;
  readonly #probe: (directory: string) => DiskSpace;
  readonly #directories: readonly string[];
  readonly #thresholds: DiskThresholds;
  /** The smallest disk on which users can write with these settings. */
  readonly capacityNeededBytes: number;
  readonly #ballast: Ballast;
  #report: DiskReport;

  private constructor(directory: string, options: DiskGuardOptions) {
    const { disk = nodeDisk, probe = probeFileSystem, directories = [] } = options;
    const space = probe(directory);
    this.#directory = directory;
    this.#probe = probe;
    this.#directories = directories;
    const needs = { ...defaultNeeds(), ...options.needs };
    this.#thresholds = defaultThresholds(space.capacityBytes, needs, options.thresholds);
    this.capacityNeededBytes = capacityNeeded(needs, options.thresholds);
    this.#ballast = Ballast.open(disk, join(directory, BALLAST_NAME), disk.list(directory).includes(BALLAST_NAME));
    this.#report = { ...space, level: 'open', ballastHeldBytes: this.#ballast.heldBytes };
  }

  /** Opens the guard of a directory, which must exist, and checks at once. */
  static open(directory: string, options: DiskGuardOptions = {}): DiskGuard {
    const guard = new DiskGuard(directory, options);
    guard.check();
    return guard;
  }

  get level(): DiskLevel {
    return this.#report.level;
  }

  /** What the last check found. */
  get report(): DiskReport {
    return this.#report;
  }

  /** Whether users can never write on this disk, however empty it is. */
  get isTooSmall(): boolean {
    return this.#report.capacityBytes < this.capacityNeededBytes;
  }

  get thresholds(): DiskThresholds {
    return this.#thresholds;
  }

  /**
   * Looks at the disk and acts on it.
   * @throws StorageFailure when the disk fails in another way than by being full, or one of its directories is gone.
   */
  check(): DiskReport {
    for (const each of this.#directories) checkThere(each);
    if (this.#ballast.failure !== undefined) throw this.#ballast.failure;
    const wasReleased = this.#decide();
    // What the release has brought is only seen by looking again.
    if (wasReleased) this.#decide();
    return this.#report;
  }

  async close(): Promise<void> {
    await this.#ballast.close();
  }

  #decide(): boolean {
    const ballast = this.#ballast;
    const space = this.#probe(this.#directory);
    const before = { level: this.#report.level, ballastHeldBytes: ballast.heldBytes };
    const decision = decideDisk(space, this.#thresholds, before);
    if (decision.ballast === 'release') ballast.release();
    if (decision.ballast === 'make') ballast.make(this.#thresholds.ballastBytes, STEPS_PER_CHECK);
    this.#report = { ...space, level: decision.level, ballastHeldBytes: ballast.heldBytes };
    return decision.ballast === 'release';
  }
}

function defaultNeeds(): DiskNeeds {
  return { segmentBytes: SEGMENT_BYTES_DEFAULT, compactionBytes: compactionBytesMax() };
}

/** The files of a directory that was removed can be written and synced as before, and are lost with the process. */
function checkThere(directory: string): void {
  try {
    statSync(directory);
  } catch (cause) {
    throw gone(directory, cause);
  }
}

function probeFileSystem(directory: string): DiskSpace {
  const { bavail, bsize, blocks } = statfsSync(directory);
  return { availableBytes: bavail * bsize, capacityBytes: blocks * bsize };
}
