/**
 * How much of the memory of this process the entries and requests may take that are not settled yet, unless a setting
 * says so: a share of what it may use, and neither so little that one database fills it nor so much that disks which
 * stand still are noticed late.
 */
import { totalmem } from 'node:os';
import { LIMITS } from '#cluster';

const SHARE = 8;
const MIN = LIMITS.uncommittedBytesMax * 4;
const MAX = 2 ** 30;

/** `auto`: an eighth of the memory, 64 MiB to 1 GiB. */
export function replicationMemoryBytes(setting: number | 'auto', memoryBytes: number = usableBytes()): number {
  if (setting !== 'auto') return setting;
  return Math.min(MAX, Math.max(MIN, Math.floor(memoryBytes / SHARE)));
}

/** What the container may use, if that is less than the machine has; without a limit a number beyond it, or 0. */
function usableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
