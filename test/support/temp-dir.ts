/** A temporary folder for one test. `await using` or vitest's onTestFinished removes it. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDir extends Disposable {
  readonly path: string;
}

export function tempDir(): TempDir {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-test-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
