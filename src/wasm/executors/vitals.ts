/**
 * What a process takes, as the kernel counts it: resident memory, and processor time of all its threads. Asked without
 * waiting on the loop; where there is no /proc, nothing is known, and only time and fuel bound a guest.
 */
import { readFile } from 'node:fs/promises';

export interface Vitals {
  readonly residentBytes: number;
  readonly cpuMs: number;
}

const PAGE_BYTES = 4096;
/** Of the kernel's clock for processes, on every Linux that Node runs on. */
const MS_PER_TICK = 10;
/** utime and stime, counted from the field behind the name, which ends with the last bracket. */
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
