/**
 * Checks that this Node.js can run the program: its version, because `cairn` may be called with an older one than
 * `npm start` uses, and its permission model, which disables fsync whatever rights are granted. It runs before anything
 * is loaded that an older version cannot parse.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Oldest supported version; the tested version is that of the package `node`. */
const MAJOR_MIN = 24;
const EXIT_USAGE = 2;
const EXIT_CANNOT_START = 1;
/** The package directory, relative to dist and to this folder. */
const PACKAGE_FOLDERS = ['..', '../../..'];

/** Ends the process with one line when the version of Node.js is too old. */
export function refuseOldNode(): void {
  const { version } = process;
  if (Number(/^v(\d+)\./.exec(version)?.[1] ?? 0) >= MAJOR_MIN) return;
  process.stderr.write(`cairn: needs Node ${MAJOR_MIN} or later, and this is ${version}; ${howToRun()}\n`);
  process.exit(EXIT_USAGE);
}

function howToRun(): string {
  const program = fileURLToPath(import.meta.url);
  const found = PACKAGE_FOLDERS.map((up) => resolve(program, '..', up, 'node_modules/node/bin/node')).find((path) =>
    existsSync(path),
  );
  if (found !== undefined) return `run it by the one that is here: ${found} ${process.argv[1] ?? program}`;
  return 'npm start brings its own and runs a node by it';
}

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
