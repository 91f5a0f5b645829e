/**
 * What a run cannot do to its nodes, since a tool is missing or not allowed. A fault of such a kind is drawn and left
 * out, and the verdict names it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FaultName } from './faults.ts';
import { whyNoTracer } from './tracer.ts';
import type { World } from './world.ts';

/** Why faults of a name are not done. */
export type Missing = Readonly<Partial<Record<FaultName, string>>>;

const MAPS = '/proc/self/maps';
const FAKE_TIME = 'faketime/libfaketimeMT.so.1';

/**
 * The library that shifts the clocks of a process; undefined: it is not there. Its package puts it below the directory
 * of the C library of its architecture, and that of this process is the right one.
 */
export function findFakeTime(): string | undefined {
  if (!existsSync(MAPS)) return undefined;
  const libc = libcOf(readFileSync(MAPS, 'utf8'));
  const library = libc === undefined ? undefined : join(dirname(libc), FAKE_TIME);
  return library !== undefined && existsSync(library) ? library : undefined;
}

/** The path of the C library in what a process has mapped. */
function libcOf(maps: string): string | undefined {
  return /(\/\S*\/libc(?:-[\d.]+)?\.so[.\d]*)$/m.exec(maps)?.[1];
}

/** `fakeTime`: what `findFakeTime` has found. */
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
