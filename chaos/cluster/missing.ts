/**
 * Finds the faults that a run cannot inject, because a tool is missing or not allowed. Such faults are drawn but
 * skipped, and the verdict lists them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FaultName } from './faults.ts';
import { whyNoTracer } from './tracer.ts';
import type { World } from './world.ts';

/** Reasons why faults are skipped, by name. */
export type Missing = Readonly<Partial<Record<FaultName, string>>>;

const MAPS = '/proc/self/maps';
const FAKE_TIME = 'faketime/libfaketimeMT.so.1';

/**
 * Returns the path of libfaketime, which shifts the clocks of processes, or undefined when it is not installed. Debian
 * installs it below the directory of the C library, which the memory map of this process names.
 */
export function findFakeTime(): string | undefined {
  if (!existsSync(MAPS)) return undefined;
  const libc = libcOf(readFileSync(MAPS, 'utf8'));
  const library = libc === undefined ? undefined : join(dirname(libc), FAKE_TIME);
  return library !== undefined && existsSync(library) ? library : undefined;
}

/** Path of the C library in a memory map. */
function libcOf(maps: string): string | undefined {
  return /(\/\S*\/libc(?:-[\d.]+)?\.so[.\d]*)$/m.exec(maps)?.[1];
}

/** `fakeTime`: result of `findFakeTime`. */
export async function missingOf(world: World, fakeTime: string | undefined): Promise<Missing> {
  const noTracer = await whyNoTracer();
  const isTraced = world.kind === 'loopback';
  return {
    ...(noTracer === undefined ? {} : { 'slow-disk': noTracer, 'sync-error': noTracer }),
    ...(noTracer !== undefined && isTraced ? { 'full-disk': noTracer } : {}),
    ...(fakeTime === undefined ? { clock: 'the library of the Debian package libfaketime is not there' } : {}),
    ...(world.network.delays === undefined ? { 'slow-link': 'only the links of --world loopback can be slowed' } : {}),
  };
}
