/**
 * How many processors this process may use: those of the machine, or what its container may use of them where that is
 * less. Node knows the limit only where it finds the control group by the name that the machine has for it.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Linux: where a container finds its own group, whatever the machine calls it. */
const GROUPS = '/sys/fs/cgroup';

export function usableProcessors(groups: string = GROUPS, processors: number = availableParallelism()): number {
  const [quota, period] = limitIn(groups);
  // `max` and -1: there is none.
  return quota > 0 && period > 0 ? Math.min(processors, Math.ceil(quota / period)) : processors;
}

/** Microseconds of processor time in so many of any time, in the second form of control groups, or the first. */
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
    // Another system, or a container that does not show it.
    return [];
  }
}
