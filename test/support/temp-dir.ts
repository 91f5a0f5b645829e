// A temporary folder that goes at the end of a block (`using`) or when its owner says so. What a process or a store may
// still write into when a test fails or takes too long is a `testDir()` of test-scope.ts.
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
