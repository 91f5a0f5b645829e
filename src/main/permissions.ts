/**
 * Refuses to run under the permission model of Node.js: it disables fsync whatever rights are granted, and nothing may
 * be acknowledged before it is synced. It imports nothing, because it runs before anything is loaded.
 */

const EXIT_CANNOT_START = 1;

/** Ends the process with one line when it was started with `--permission`. */
export function refusePermissionModel(): void {
  // Despite its type, the property is absent unless the permission model is on.
  if (!Reflect.has(process, 'permission')) return;
  const reason = 'it disables fsync, and nothing may be acknowledged before it is synced';
  process.stderr.write(
    `cairn: cannot run under the permission model of Node: ${reason}. Start it without --permission\n`,
  );
  process.exit(EXIT_CANNOT_START);
}
