/**
 * Feature levels: each format that earlier releases cannot read has a level, and is written only when the cluster is at
 * that level (ADR 0047). Levels are numbered consecutively from 1.
 */
export interface LevelRange {
  /** A cluster below it must first be upgraded with an earlier release. */
  readonly min: number;
  readonly max: number;
}

/**
 * The levels of clusters that this release can belong to. A further level gets a line here.
 *
 * ```
 * 1   everything that the first release writes
 * ```
 */
export const LEVELS: LevelRange = { min: 1, max: 1 };

/** Level of every format that names no other. */
export const LEVEL_FIRST = 1;

/** A log record stores the level in one byte. */
const LEVEL_MAX = 255;

export function isLevelRange({ min, max }: LevelRange): boolean {
  return Number.isInteger(min) && Number.isInteger(max) && LEVEL_FIRST <= min && min <= max && max <= LEVEL_MAX;
}

export function hasLevel({ min, max }: LevelRange, level: number): boolean {
  return min <= level && level <= max;
}

export function formatLevels({ min, max }: LevelRange): string {
  return min === max ? `level ${min}` : `levels ${min} to ${max}`;
}
