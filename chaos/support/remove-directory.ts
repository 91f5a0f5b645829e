/** Removes directories of nodes that were just killed and may still be ending. */
import { rmSync } from 'node:fs';

/** Removes a directory, including files that are created meanwhile. */
export function removeDirectory(path: string): void {
  // A retry delay below one second has no effect.
  rmSync(path, { recursive: true, force: true, maxRetries: 2, retryDelay: 1000 });
}
