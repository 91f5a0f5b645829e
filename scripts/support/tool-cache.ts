/** The folder for programs that are built or downloaded once per machine, outside the repository. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export function toolCache(): string {
  const { XDG_CACHE_HOME: cache } = process.env;
  return join(cache === undefined || cache === '' ? join(homedir(), '.cache') : cache, 'cairn');
}
