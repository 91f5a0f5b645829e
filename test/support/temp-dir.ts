// A temporary folder that is removed at the end of a block (`using`) or by its owner. Use `testDir()` of test-scope.ts
// when a process or store may still write to it after a failure or timeout of the test.
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
