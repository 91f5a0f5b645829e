/** Node flags of a process that runs guests: it may read its own program, and has no other permission. */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PAGE_BYTES } from '../limits.ts';

const MIB = 2 ** 20;
/** Maximum memory of one guest, and maximum size of a table, whatever its component declares. */
const GUEST_MEMORY_BYTES_MAX = 256 * MIB;
const TABLE_ELEMENTS_MAX = 100_000;

/** `.ts` from source, `.js` when built. */
export const IS_SOURCE: boolean = import.meta.url.endsWith('.ts');
/** The files of the program: one folder when built; some layers and package.json, which maps names, in source. */
const READABLE: readonly string[] = IS_SOURCE
  ? [fileURLToPath(new URL('../..', import.meta.url)), fileURLToPath(new URL('../../../package.json', import.meta.url))]
  : [fileURLToPath(new URL('.', import.meta.url))];

/** setpriv of util-linux. The one of BusyBox is a link to it and does not know --pdeathsig. */
const SETPRIV = '/usr/bin/setpriv';

/**
 * Launcher that makes the kernel kill the process when the node ends: a running guest does not notice the end and has
 * fuel for a minute. Without util-linux the process ends when the fuel does.
 */
export const LAUNCHER: readonly string[] = isOfUtilLinux(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : [];

function isOfUtilLinux(path: string): boolean {
  try {
    return realpathSync(path) === path;
  } catch {
    return false;
  }
}

/** `heapBytesMax`: maximum JavaScript heap; guest memories and byte arrays are not counted in it. */
export function flagsOf(heapBytesMax: number): readonly string[] {
  return [
    ...(IS_SOURCE ? ['--conditions=source'] : []),
    '--permission',
    // Its own descriptors, so that it can close the inherited ones.
    '--allow-fs-read=/proc/self/fd',
    ...READABLE.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    `--max-old-space-size=${Math.ceil(heapBytesMax / MIB)}`,
    `--wasm-max-mem-pages=${Math.ceil(GUEST_MEMORY_BYTES_MAX / PAGE_BYTES)}`,
    `--wasm-max-table-size=${TABLE_ELEMENTS_MAX}`,
  ];
}
