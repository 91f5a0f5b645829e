/**
 * CPU time and memory of a process with all its threads, and bytes written to a disk, from /proc and /sys (Linux only).
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** USER_HZ, which is always 100 in /proc. */
const TICKS_PER_SECOND = 100;
/** Unit of a block device's statistics, whatever its sectors are. */
const SECTOR_BYTES = 512;

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

/**
 * Bytes that all processes have written to the disk of the directory, with those that the system had in memory.
 *
 * The counter `write_bytes` of a process would not need an otherwise idle disk. But a write into a clean folio of the
 * page cache counts there as the whole folio, up to 2 MiB, of which the system writes the changed blocks.
 */
export function diskWrittenBytes(directory: string): number {
  execFileSync('sync', ['--file-system', directory]);
  const { dev } = statSync(directory);
  const [major, minor] = [(dev >>> 8) & 0xfff, (dev & 0xff) | ((dev >>> 12) & 0xfff00)];
  const sectors = readFileSync(`/sys/dev/block/${major}:${minor}/stat`, 'utf8').trim().split(/\s+/)[6];
  return Number(sectors) * SECTOR_BYTES;
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
