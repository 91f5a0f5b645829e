/**
 * The Node that the command runs on: whoever calls `cairn` by hand may have an older one than `npm start`, which brings
 * its own. Asked before anything is loaded that an older Node cannot even read.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The oldest that has what is used; the one that it is tested with is that of the package `node`. */
const MAJOR_MIN = 24;
const EXIT_USAGE = 2;
/** From dist and from src/main alike there is one package above. */
const PACKAGE_FOLDERS = ['..', '../..'];

/** Ends the process with one line on a Node that is too old. */
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
