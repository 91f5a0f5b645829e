/**
 * Node's permission model, under which a node cannot run: it disables fsync, for whatever rights are given, and nothing
 * may be acknowledged before it is synced. Imports nothing, because it is asked before anything is loaded.
 */

const EXIT_CANNOT_START = 1;

/** Ends the process with one line when it was started with `--permission`. */
export function refusePermissionModel(): void {
  // Absent, whatever the types say, unless the model is on.
  if (!Reflect.has(process, 'permission')) return;
  const reason = 'it disables fsync, and nothing may be acknowledged before it is synced';
  process.stderr.write(
    `cairn: cannot run under the permission model of Node: ${reason}. Start it without --permission\n`,
  );
  process.exit(EXIT_CANNOT_START);
}
