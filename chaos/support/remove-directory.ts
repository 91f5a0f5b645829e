/** Directories of nodes that were killed just now, and may not have ended yet. */
import { rmSync } from 'node:fs';

/** Removes it with all that is in it, and what is written there meanwhile. */
export function removeDirectory(path: string): void {
  // Less than a second between the tries is none.
  rmSync(path, { recursive: true, force: true, maxRetries: 2, retryDelay: 1000 });
}
