/**
 * The options of V8, and one of Node, that a node runs with. They are taken on the command line only, before the first
 * line of a program, so a process that was started without them becomes one that was: same process id, same arguments,
 * same output.
 *
 * None of them is a limit. They only say how soon V8 collects garbage. Reasons and costs:
 * docs/adr/0017-memory-of-the-process.md.
 */
import { usableProcessors } from './processors.ts';

/**
 * Pools of malloc that the threads share; by itself glibc makes eight for each processor, and each keeps what it had.
 */
const ARENAS_MAX = '2';

/**
 * Size from which an allocation has memory of its own, which returns to the system with it, and how much may be free at
 * the end of a pool. By default glibc raises both with what is freed, up to 32 and 64 MiB. It then keeps the memory of
 * a large publication as long as a small allocation follows it (ADR 0017).
 */
const OWN_MEMORY_BYTES = '1048576';
const FREE_BYTES_MAX = '16777216';

/** What malloc reads when a process begins. */
const MALLOC: NodeJS.ProcessEnv = {
  MALLOC_ARENA_MAX: ARENAS_MAX,
  MALLOC_MMAP_THRESHOLD_: OWN_MEMORY_BYTES,
  MALLOC_TRIM_THRESHOLD_: FREE_BYTES_MAX,
};

/** What Node takes by itself. */
const POOL_THREADS_MAX = 4;

/** With less memory the young generations of all threads would be a third of it. */
const SMALL_MEMORY_BYTES = 512 * 2 ** 20;
const isSmall = process.constrainedMemory() > 0 && process.constrainedMemory() < SMALL_MEMORY_BYTES;

const OPTIONS: ReadonlyMap<string, string> = new Map([
  // MiB of one half of the young generation of each thread. By itself V8 goes to 64, and comes down from there late.
  ['--max-semi-space-size', isSmall ? '=2' : '=8'],
  // MiB of a thread's old generation at which it is first collected as a whole; by itself hundreds.
  ['--initial-old-space-size', '=24'],
  // And again whenever it has grown by so many percent since; by itself up to 300.
  ['--heap-growing-percent', '=50'],
  // What a place in the code allocates is young, however long the first of it lived.
  ['--no-allocation-site-pretenuring', ''],
  // Nobody here asks in whose context work is done. Node carries it along with every callback all the same.
  ['--no-async-context-frame', ''],
  // Threads that collect and compile beside those that work: as many as there are processors left.
  ['--v8-pool-size', `=${Math.min(Math.max(usableProcessors() - 1, 1), POOL_THREADS_MAX)}`],
]);

/**
 * Starts the process anew with the options that it lacks; returns when there are none, or when this Node cannot. Then
 * it runs without them, and says so in its log.
 */
export function ensureV8Options(): void {
  const lacking = ownLackingV8Options();
  if (lacking.length === 0 || typeof process.execve !== 'function') return;
  const args = [process.execPath, ...lacking, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...MALLOC, ...process.env });
}

/** The options that this process runs without. */
export function ownLackingV8Options(): readonly string[] {
  const { NODE_OPTIONS: variable = '' } = process.env;
  return lackingV8Options([...process.execArgv, ...variable.split(/\s+/)]);
}

/** The options that are not among those given; one that was given, whatever its value, stays as it is. */
export function lackingV8Options(given: readonly string[]): readonly string[] {
  const names = new Set(given.map(optionName));
  return [...OPTIONS].filter(([name]) => !names.has(optionName(name))).map(([name, value]) => name + value);
}

/** V8 takes `--a_b=1` and `--a-b=1` alike, and `--no-c` says something about `--c`. */
function optionName(option: string): string {
  return (option.split('=')[0] ?? '').replaceAll('_', '-').replace(/^--no-/, '--');
}
