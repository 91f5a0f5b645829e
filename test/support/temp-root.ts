// The temporary folder of a run, in which all others are: processes of tests leave the data of the servers that their
// files share (shared-servers.ts), because they are killed at the end of the run.
import { tempDir } from './temp-dir.ts';

/** What vitest calls before the first test; what it returns is called after the last one. */
export function setup(): () => void {
  const root = tempDir();
  process.env['TMPDIR'] = root.path;
  return () => root[Symbol.dispose]();
}
