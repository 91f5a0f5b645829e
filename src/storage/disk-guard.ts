/**
 * Watches the free space of the data directory: reads it from the file system, and decides the level.
 *
 * It has no timer: its owner calls `check` a few times a second, and reads `level` before it accepts a write.
 */
import { statfsSync, statSync } from 'node:fs';
import { gone } from './basis/storage-failure.ts';
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
import { SEGMENT_BYTES_DEFAULT } from './wal.ts';

export interface DiskGuardOptions {
  /** Defaults follow from the size of the disk: see `defaultThresholds`. */
  readonly thresholds?: Partial<DiskThresholds>;
  /** The needs that the defaults follow from. Default: those of log and store with their defaults. */
  readonly needs?: Partial<DiskNeeds>;
  /** Default: the file system that holds the directory. */
  readonly probe?: (directory: string) => DiskSpace;
  /** Directories that must be there for as long as the guard is. */
  readonly directories?: readonly string[];
}

export interface DiskReport extends DiskSpace {
  readonly level: DiskLevel;
}

export class DiskGuard {
  readonly #directory: string;
  readonly #probe: (directory: string) => DiskSpace;
  readonly #directories: readonly string[];
  readonly thresholds: DiskThresholds;
  /** The smallest disk on which users can write with these settings. */
  readonly capacityNeededBytes: number;
  #report: DiskReport;

  /** Guards a directory, which must exist, and checks at once. */
  constructor(directory: string, options: DiskGuardOptions = {}) {
    const { probe = probeFileSystem, directories = [] } = options;
    const space = probe(directory);
    this.#directory = directory;
    this.#probe = probe;
    this.#directories = directories;
    const needs = { ...defaultNeeds(), ...options.needs };
    this.thresholds = defaultThresholds(space.capacityBytes, needs, options.thresholds);
    this.capacityNeededBytes = capacityNeeded(needs, options.thresholds);
    this.#report = { ...space, level: 'open' };
    this.check();
  }

  get level(): DiskLevel {
    return this.#report.level;
  }

  /** Result of the last check. */
  get report(): DiskReport {
    return this.#report;
  }

  /** True when clients can never write on this disk, even if it is empty. */
  get isTooSmall(): boolean {
    return this.#report.capacityBytes < this.capacityNeededBytes;
  }

  /**
   * Looks at the disk.
   * @throws StorageFailure when one of the directories is gone
   */
  check(): DiskReport {
    for (const each of this.#directories) checkThere(each);
    const space = this.#probe(this.#directory);
    this.#report = { ...space, level: decideDisk(space.availableBytes, this.thresholds, this.level) };
    return this.#report;
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

/** Share of the disk of a directory that is not available now, in percent. */
export function diskUsedPercent(directory: string): number {
  const { availableBytes, capacityBytes } = probeFileSystem(directory);
  return capacityBytes === 0 ? 0 : Math.floor(100 * (1 - availableBytes / capacityBytes));
}

function probeFileSystem(directory: string): DiskSpace {
  const { bavail, bsize, blocks } = statfsSync(directory);
  return { availableBytes: bavail * bsize, capacityBytes: blocks * bsize };
}
