/**
 * The commands for authors of components. They are not part of the server: they are in sdk/tool of a checkout, with the
 * toolchain, and run from their sources in a separate process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_DIR } from '../process/release.ts';

const EXIT_NOT_THERE = 1;
const EXIT_BY_SIGNAL = 128;
const TOOL: string = join(PACKAGE_DIR, 'sdk/tool/main.ts');

/** Runs the command. @returns the exit code */
export async function toolCommand(args: readonly string[], err: (text: string) => void): Promise<number> {
  if (!existsSync(TOOL)) {
    err(`cairn ${args[0]}: ${TOOL} does not exist; this command needs a checkout of Cairn\n`);
    return EXIT_NOT_THERE;
  }
  const child = spawn(process.execPath, ['--conditions=source', TOOL, ...args], { stdio: 'inherit' });
  await once(child, 'exit');
  const { exitCode, signalCode } = child;
  return exitCode ?? EXIT_BY_SIGNAL + (signalCode === null ? 0 : constants.signals[signalCode]);
}
