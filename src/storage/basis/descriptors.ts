/**
 * Handles a lack of file descriptors, which is temporary: mostly a crowd of connections has them, and releases them.
 *
 * A file that could not be opened differs from a failed write or sync: nothing was begun, and nothing is in doubt. So
 * opening is retried for a while, which is forbidden for a write (W7).
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 50;
const PATIENCE_MS = 30_000;
/** Linux: the soft limit. Node.js has raised it to the hard limit at startup. */
const LIMIT_LINE = /^Max open files\s+(\d+)/m;
/** The three isolates that read histories, and the writer, keep so many segments open, or less of a low limit. */
const OPEN_SEGMENTS_MAX = 64;
const OPEN_SEGMENTS_PART = 1 / 32;
const WITH_SEGMENTS = 4;

/** Maximum number of open files of the process; undefined when it is unknown or unlimited. */
export function openFilesMax(): number | undefined {
  try {
    const [, soft] = LIMIT_LINE.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Segments that a reader or the writer keeps open, for a limit of open files. */
export function openSegmentsMax(filesMax: number | undefined = openFilesMax()): number {
  return filesMax === undefined
    ? OPEN_SEGMENTS_MAX
    : Math.min(OPEN_SEGMENTS_MAX, Math.floor(filesMax * OPEN_SEGMENTS_PART));
}

/** Segments that all of them keep open. */
export function segmentFilesMax(filesMax: number): number {
  return WITH_SEGMENTS * openSegmentsMax(filesMax);
}

/** Also for a failure that was caused by such an error. */
export function isOutOfDescriptors(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE')) || isOutOfDescriptors(error.cause);
}

/** Tries again while there is no descriptor, for 30 s at most. Takes the thread: not for one that clients wait for. */
export function patiently<Value>(work: () => Value): Value {
  let endMs: number | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      endMs ??= performance.now() + PATIENCE_MS;
      if (performance.now() > endMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/** Like `patiently`, but without blocking the thread. */
export async function patientlyAwait<Value>(work: () => Promise<Value>): Promise<Value> {
  let endMs: number | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      endMs ??= performance.now() + PATIENCE_MS;
      if (performance.now() > endMs) throw error;
      await delay(PAUSE_MS);
    }
  }
}
