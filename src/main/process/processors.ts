/**
 * Number of processors that this process may use: those of the machine, or the lower limit of its container. Node.js
 * finds the limit only when the control group has the same path inside the container as on the machine.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Linux: where a container finds its own control group. */
const GROUPS = '/sys/fs/cgroup';

export function usableProcessors(groups: string = GROUPS, processors: number = availableParallelism()): number {
  const [quota, period] = limitIn(groups);
  // `max` and -1 mean no limit.
  return quota > 0 && period > 0 ? Math.min(processors, Math.ceil(quota / period)) : processors;
}

/** Quota and period in microseconds, from control groups of version 2 or 1. */
function limitIn(groups: string): readonly [quota: number, period: number] {
  const [quota = Number.NaN, period = Number.NaN] = numbersIn(`${groups}/cpu.max`);
  if (period > 0) return [quota, period];
  const [first = Number.NaN, per = Number.NaN] = ['quota', 'period'].flatMap((name) =>
    numbersIn(`${groups}/cpu/cpu.cfs_${name}_us`),
  );
  return [first, per];
}

function numbersIn(file: string): readonly number[] {
  try {
    return readFileSync(file, 'utf8').trim().split(' ').map(Number);
  } catch {
    // Another system, or a container without the file.
    return [];
  }
}
