/**
 * Resource use of a process from /proc: resident memory, and processor time of all its threads. Read asynchronously;
 * where there is no /proc, only wall time and fuel limit a guest.
 */
import { readFile } from 'node:fs/promises';

export interface Vitals {
  readonly residentBytes: number;
  readonly cpuMs: number;
}

const PAGE_BYTES = 4096;
/** Length of the kernel's clock tick, on every Linux that Node runs on. */
const MS_PER_TICK = 10;
/** utime and stime, counted from the field after the name, which ends with the last bracket. */
const UTIME = 11;
const RSS = 21;

export async function vitalsOf(pid: number): Promise<Vitals | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, pages] = [fields[UTIME], fields[UTIME + 1], fields[RSS]].map(Number);
  if (utime === undefined || stime === undefined || pages === undefined) return undefined;
  return { residentBytes: pages * PAGE_BYTES, cpuMs: (utime + stime) * MS_PER_TICK };
}
