/** CPU time, memory and written bytes of a process with all its threads, from /proc (Linux only). */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which is always 100 in /proc. */
const TICKS_PER_SECOND = 100;

/** User and system seconds of the processes and of their child processes that have ended. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((total, pid) => {
    // The process may have ended; then its time counts for its parent.
    const afterName = procFile(pid, 'stat').split(') ')[1] ?? '';
    // utime, stime, cutime, cstime: fields 14 to 17 of proc(5), counted from the third.
    const [user, system, childUser, childSystem] = afterName.split(' ').slice(11, 15).map(Number);
    return total + ((user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0)) / TICKS_PER_SECOND;
  }, 0);
}

/** CPU seconds of the threads of a process, summed by thread name. */
export function threadSeconds(pid: number): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const stat = procFile(pid, `task/${task}/stat`);
    const afterName = stat.split(') ')[1];
    // The thread has ended since the list was read.
    if (afterName === undefined) continue;
    const name = Number(task) === pid ? 'front' : stat.slice(stat.indexOf('(') + 1, stat.indexOf(') '));
    const [user, system] = afterName.split(' ').slice(11, 13).map(Number);
    used.set(name, (used.get(name) ?? 0) + ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND);
  }
  return used;
}

export interface ResidentMemory {
  /** VmRSS in bytes; the sum of the others. */
  readonly total: number;
  /** Heaps, buffers and stacks, which only the process can release. */
  readonly anonymous: number;
  /** Pages of mapped files, which the kernel can reclaim: the program, and LevelDB's tables. */
  readonly files: number;
}

export function residentMemory(pid: number): ResidentMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { total: bytesOf('VmRSS'), anonymous: bytesOf('RssAnon'), files: bytesOf('RssFile') + bytesOf('RssShmem') };
}

/** Pss in bytes: resident memory, where shared pages are divided by the number of their processes. */
export function proportionalBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
}

/** Bytes that the process, its children and those that it has waited for have sent to disks, by any file. */
export function writtenBytes(pid: number): number {
  return processTree(pid).reduce(
    (total, each) => total + Number(/^write_bytes: (\d+)$/m.exec(procFile(each, 'io'))?.[1] ?? 0),
    0,
  );
}

/** The process and all its descendants. */
export function processTree(pid: number): readonly number[] {
  const children = procFile(pid, `task/${pid}/children`).split(' ').filter(Boolean);
  return [pid, ...children.flatMap((child) => processTree(Number(child)))];
}

/** Content of a file of the process; empty when the process has ended, which may happen between two reads. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    // ENOENT before the file is open, ESRCH after.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return '';
    throw error;
  }
}
