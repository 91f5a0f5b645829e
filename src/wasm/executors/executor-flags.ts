/**
 * What a process that runs guests may do, as flags of Node: read its own program, and nothing else that the permission
 * model knows.
 */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PAGE_BYTES } from '../limits.ts';

export interface ProcessBounds {
  /** Of its JavaScript heap; memories of guests and bytes are beside it. */
  readonly heapBytesMax: number;
  /** No memory of a guest may be larger, whatever a component says. */
  readonly guestMemoryBytesMax: number;
  readonly tableElementsMax: number;
}

const MIB = 2 ** 20;

/** `.ts` from source, `.js` when built. */
export const IS_SOURCE: boolean = import.meta.url.endsWith('.ts');
/** What the program is made of: built it is one folder, in source some layers and what maps their names. */
const READABLE: readonly string[] = IS_SOURCE
  ? [fileURLToPath(new URL('../..', import.meta.url)), fileURLToPath(new URL('../../../package.json', import.meta.url))]
  : [fileURLToPath(new URL('.', import.meta.url))];

/** Of util-linux. The one of BusyBox, which is a link to it, knows no such signal. */
const SETPRIV = '/usr/bin/setpriv';

/**
 * What begins the process so that the kernel ends it with the node, however that ends: a guest that runs notices
 * nothing by itself, and has fuel for a minute. Where there is none, it is ended by that.
 */
export const LAUNCHER: readonly string[] = isOfUtilLinux(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : [];

function isOfUtilLinux(path: string): boolean {
  try {
    return realpathSync(path) === path;
  } catch {
    return false;
  }
}

export function flagsOf({ heapBytesMax, guestMemoryBytesMax, tableElementsMax }: ProcessBounds): readonly string[] {
  return [
    ...(IS_SOURCE ? ['--conditions=source'] : []),
    '--permission',
    // Its own descriptors, to close those that it inherits.
    '--allow-fs-read=/proc/self/fd',
    ...READABLE.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    `--max-old-space-size=${Math.ceil(heapBytesMax / MIB)}`,
    `--wasm-max-mem-pages=${Math.ceil(guestMemoryBytesMax / PAGE_BYTES)}`,
    `--wasm-max-table-size=${tableElementsMax}`,
  ];
}
