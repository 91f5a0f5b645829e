/**
 * How much memory the process may use, and what follows from it: the budgets that are `auto`, and when its threads
 * collect their garbage (docs/operations/memory.md).
 *
 * A limit of a container ends the process when it is exceeded, and V8 knows nothing of it: each thread keeps up to 64
 * MiB of buffers that nobody holds any more before it looks for them.
 */
import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { assert } from '#base';

const MIB = 2 ** 20;

/** A budget: so large a part of the memory, within its bounds. */
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

/** With less a node is not expected to last under load. */
const NEEDED_BYTES = 320 * MIB;
/** What a node takes before it does anything, and what a process that runs components takes. */
const BASE_BYTES = 256 * MIB;
const EXECUTOR_BYTES = 128 * MIB;

/** What the container may use, if that is less than the machine has; without a limit a number beyond it, or 0. */
export function usableMemoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** The size of a budget; one that is set stays as it is. */
export function memoryShare(name: Budget, setting: number | 'auto', memoryBytes: number = usableMemoryBytes()): number {
  if (setting !== 'auto') return setting;
  const { part, min, max } = MEMORY_SHARES[name];
  return Math.min(max, Math.max(min, Math.floor((memoryBytes * part) / MIB) * MIB));
}

/** How many processes may run components of a kind: one for each processor, as far as there is memory for them. */
export function executorCount(processors: number, memoryBytes: number = usableMemoryBytes()): number {
  return Math.max(1, Math.min(processors, Math.floor((memoryBytes - BASE_BYTES) / EXECUTOR_BYTES)));
}

/** What a node needs, when it may use less; otherwise undefined. */
export function lackingMemory(memoryBytes: number = usableMemoryBytes()): { readonly neededBytes: number } | undefined {
  return memoryBytes < NEEDED_BYTES ? { neededBytes: NEEDED_BYTES } : undefined;
}

/** From which share of the limit on garbage is looked for, and how much of it there must be. */
const PRESSURE = 0.7;
const GARBAGE_BYTES = 12 * MIB;
const LOOK_EVERY_MS = 50;

interface PressurePorts {
  readonly limitBytes: number;
  /** Of the process. */
  readonly residentBytes: () => number;
  /** Of this thread: its heap and the buffers that it has made. */
  readonly ownBytes: () => number;
  readonly collect: () => void;
}

/**
 * A look at the memory: collects when the process is near its limit and this thread has made more than a little since
 * it collected last.
 */
export function pressureLook({ limitBytes, residentBytes, ownBytes, collect }: PressurePorts): () => void {
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

/** Has this thread collect under pressure for as long as it runs. */
export function collectUnderPressure(limitBytes: number = usableMemoryBytes()): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  assert(typeof collect === 'function', 'V8 gives its collector');
  const ownBytes = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const residentBytes = (): number => process.memoryUsage.rss();
  const look = pressureLook({
    limitBytes,
    residentBytes,
    ownBytes,
    collect: () => {
      Reflect.apply(collect, undefined, []);
    },
  });
  setInterval(look, LOOK_EVERY_MS).unref();
}
