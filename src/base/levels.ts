/**
 * Feature levels: what is written so that releases before could not read it has a level of its own, and is written only
 * when the cluster is at that level (ADR 0047). Levels are counted from 1 on, one after the other.
 */
export interface LevelRange {
  /** A cluster below it must be raised by an earlier release first. */
  readonly min: number;
  readonly max: number;
}

/**
 * The levels of clusters that this release can belong to.
 *
 * ```
 * 1   transactions
 * 2   definitions of components (ADR 0105)
 * 3   API keys (ADR 0126); the MCP address of a node (ADR 0121)
 * 4   transactions whose refusals are kept (ADR 0142)
 * 5   replicas compare their histories (ADR 0170), and nodes their clocks
 * 6   grants that bound how many databases there are (ADR 0126)
 * 7   versions of components that are published inactive, and deletions of inactive versions alone
 * ```
 */
export const LEVELS: LevelRange = { min: 1, max: 7 };

/** Of everything that says nothing else. */
export const LEVEL_FIRST = 1;

/** A record of the log has a byte for it. */
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
