/**
 * Determines how much memory the process may use, and derives from it the budgets that are `auto` and the moments at
 * which threads collect garbage (docs/operations/memory.md).
 *
 * A container limit kills the process when it is exceeded, and V8 does not know the limit: each thread keeps up to 64
 * MiB of unreachable buffers before it collects them.
 */
import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { assert } from '#base';

const MIB = 2 ** 20;

/** A budget: a share of the memory, within bounds. */
interface Share {
  readonly part: number;
  readonly min: number;
  readonly max: number;
}

type Budget = 'requestMemoryBytes' | 'unsentMemoryBytes' | 'replicationMemoryBytes' | 'storeWriteBufferBytes';

export const MEMORY_SHARES: Readonly<Record<Budget, Share>> = {
  requestMemoryBytes: { part: 1 / 8, min: 16 * MIB, max: 128 * MIB },
  unsentMemoryBytes: { part: 1 / 8, min: 32 * MIB, max: 128 * MIB },
  replicationMemoryBytes: { part: 1 / 8, min: 32 * MIB, max: 1024 * MIB },
  storeWriteBufferBytes: { part: 1 / 32, min: 4 * MIB, max: 32 * MIB },
};

/** With less memory a node is likely to be killed under load. */
const NEEDED_BYTES = 320 * MIB;
/** Memory of an idle node, and memory of a guest process. */
const BASE_BYTES = 256 * MIB;
const EXECUTOR_BYTES = 128 * MIB;

/**
 * Memory limit of the container, if it is lower than the memory of the machine. Without a limit Node.js reports a
 * larger number, or 0.
 */
export function usableMemoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Size of a budget; a setting other than `auto` is used as it is. */
export function memoryShare(name: Budget, setting: number | 'auto', memoryBytes: number = usableMemoryBytes()): number {
  if (setting !== 'auto') return setting;
  const { part, min, max } = MEMORY_SHARES[name];
  return Math.min(max, Math.max(min, Math.floor((memoryBytes * part) / MIB) * MIB));
}

/** Number of guest processes per kind of component: one per processor, if there is memory for them. */
export function executorCount(processors: number, memoryBytes: number = usableMemoryBytes()): number {
  return Math.max(1, Math.min(processors, Math.floor((memoryBytes - BASE_BYTES) / EXECUTOR_BYTES)));
}

/** Returns the memory that a node needs if the process may use less; otherwise undefined. */
export function lackingMemory(memoryBytes: number = usableMemoryBytes()): { readonly neededBytes: number } | undefined {
  return memoryBytes < NEEDED_BYTES ? { neededBytes: NEEDED_BYTES } : undefined;
}

/** Share of the limit above which threads collect garbage, and the minimum that a thread must have allocated since. */
const PRESSURE = 0.7;
const GARBAGE_BYTES = 12 * MIB;
const CHECK_EVERY_MS = 50;

interface PressurePorts {
  readonly limitBytes: number;
  /** Resident memory of the process. */
  readonly residentBytes: () => number;
  /** Heap and buffers of this thread. */
  readonly ownBytes: () => number;
  readonly collect: () => void;
}

/**
 * Returns a check that collects garbage when the process is near its limit and this thread has allocated enough since
 * its last collection.
 */
export function pressureCheck({ limitBytes, residentBytes, ownBytes, collect }: PressurePorts): () => void {
  let leftBytes = 0;
  return () => {
    if (residentBytes() < PRESSURE * limitBytes) return;
    const bytes = ownBytes();
    leftBytes = Math.min(leftBytes, bytes);
    if (bytes < leftBytes + GARBAGE_BYTES) return;
    collect();
    leftBytes = ownBytes();
  };
}

/** Lets this thread collect garbage under memory pressure, as long as it runs. */
export function collectUnderPressure(limitBytes: number = usableMemoryBytes()): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  assert(typeof collect === 'function', 'V8 gives its collector');
  const ownBytes = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const residentBytes = (): number => process.memoryUsage.rss();
  const check = pressureCheck({
    limitBytes,
    residentBytes,
    ownBytes,
    collect: () => void Reflect.apply(collect, undefined, []),
  });
  setInterval(check, CHECK_EVERY_MS).unref();
}
