/** A temporary folder for one test. `await using` or vitest's onTestFinished removes it. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDir extends Disposable {
  readonly path: string;
}

/** A process that a test ends only when it is over may still write into its folder while that is removed. */
const AGAIN = { maxRetries: 10, retryDelay: 100 };

export function tempDir(): TempDir {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-test-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, ...AGAIN }) };
}
