// The temporary folder of a test run, which contains all others. Test processes are killed at the end of the run, so
// they leave the data of shared servers (shared-servers.ts).
import { tempDir } from './temp-dir.ts';

/** Called by Vitest before the first test; the returned function is called after the last one. */
export function setup(): () => void {
  const root = tempDir();
  process.env['TMPDIR'] = root.path;
  return () => root[Symbol.dispose]();
}
