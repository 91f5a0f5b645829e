/**
 * Options of V8 and Node.js that a node runs with. They can only be given on the command line, so a process that was
 * started without them replaces itself by one with them: same process id, arguments and output.
 *
 * None of the options is a limit. They only make V8 collect garbage earlier. Reasons and costs:
 * docs/adr/0017-memory-of-the-process.md.
 */
import { usableProcessors } from './processors.ts';

/** Number of malloc arenas; the default of glibc is eight per processor, and each keeps its freed memory. */
const ARENAS_MAX = '2';

/**
 * Two limits of glibc: the size from which an allocation gets its own mapping, which is unmapped when it is freed, and
 * the most free memory at the end of an arena. By default glibc raises both with freed sizes, up to 32 and 64 MiB, and
 * then keeps the memory of a large publication as long as a small allocation follows it (ADR 0017).
 */
const OWN_MEMORY_BYTES = '1048576';
const FREE_BYTES_MAX = '16777216';

/** Variables that malloc reads when a process starts. */
const MALLOC: NodeJS.ProcessEnv = {
  MALLOC_ARENA_MAX: ARENAS_MAX,
  MALLOC_MMAP_THRESHOLD_: OWN_MEMORY_BYTES,
  MALLOC_TRIM_THRESHOLD_: FREE_BYTES_MAX,
};

/** Default of Node.js. */
const POOL_THREADS_MAX = 4;

/** Below this size, the young generations of all threads would be a third of the memory. */
const SMALL_MEMORY_BYTES = 512 * 2 ** 20;
const isSmall = process.constrainedMemory() > 0 && process.constrainedMemory() < SMALL_MEMORY_BYTES;

const OPTIONS: ReadonlyMap<string, string> = new Map([
  // MiB of a semi-space of each thread. By default V8 grows it to 64 and shrinks it late.
  ['--max-semi-space-size', isSmall ? '=2' : '=8'],
  // MiB of a thread's old generation at its first full collection; the default is hundreds.
  ['--initial-old-space-size', '=24'],
  // Growth in percent until the next full collection; the default is up to 300.
  ['--heap-growing-percent', '=50'],
  // All allocations start in the young generation, even if earlier objects from the same place in the code lived long.
  ['--no-allocation-site-pretenuring', ''],
  // The code does not use AsyncLocalStorage, whose context Node.js would carry along with every callback.
  ['--no-async-context-frame', ''],
  // V8 threads for garbage collection and compilation: as many as there are other processors.
  ['--v8-pool-size', `=${Math.min(Math.max(usableProcessors() - 1, 1), POOL_THREADS_MAX)}`],
]);

/**
 * Replaces the process by one with the missing options. Returns when none are missing, or when this Node.js cannot do
 * it; then the process runs without them and logs it.
 */
export function ensureV8Options(): void {
  const lacking = ownLackingV8Options();
  if (lacking.length === 0 || typeof process.execve !== 'function') return;
  const args = [process.execPath, ...lacking, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...MALLOC, ...process.env });
}

/** Options that this process runs without. */
export function ownLackingV8Options(): readonly string[] {
  const { NODE_OPTIONS: variable = '' } = process.env;
  return lackingV8Options([...process.execArgv, ...variable.split(/\s+/)]);
}

/** Options that are not among the given ones; a given option is kept whatever its value. */
export function lackingV8Options(given: readonly string[]): readonly string[] {
  const names = new Set(given.map(optionName));
  return [...OPTIONS].filter(([name]) => !names.has(optionName(name))).map(([name, value]) => name + value);
}

/** V8 accepts `--a_b=1` and `--a-b=1` alike, and `--no-c` is an option about `--c`. */
function optionName(option: string): string {
  return (option.split('=')[0] ?? '').replaceAll('_', '-').replace(/^--no-/, '--');
}
