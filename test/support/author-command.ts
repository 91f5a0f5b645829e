/** Runs the `cairn` command from the sources in a folder, as an author of components does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/** A fresh clone has only the sources: `npm start` builds the bundle, but the tests do not. */
const MAIN = resolve(import.meta.dirname, '../../src/main/main.ts');
const FROM_SOURCE = ['--conditions=source', '--disable-warning=ExperimentalWarning', MAIN];

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `cairn …` outside of an npm script, and returns its exit code and output. */
export async function cairnIn(folder: string, ...words: readonly string[]): Promise<Ended> {
  const { npm_lifecycle_event: _, ...env } = process.env;
  const child = spawn(process.execPath, [...FROM_SOURCE, ...words], { cwd: folder, env });
  const ended = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  return { code: child.exitCode, out, err };
}
