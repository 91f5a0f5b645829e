// Builds the product once before the tests of a run, so that every process of a node that they start is what is
// shipped: the bundle, beside the package's manifest and its packages. chaos/support/product.ts says where it is.
import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { tempDir } from './temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Global setup of Vitest, and its teardown; several suites share one build. */
export function setup(): () => void {
  if (process.env[PRODUCT_VARIABLE] !== undefined) return () => undefined;
  const dir = tempDir();
  cpSync(join(ROOT, 'package.json'), join(dir.path, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(dir.path, 'node_modules'));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/bundle.ts', join(dir.path, 'dist')], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the product cannot be built:\n${stderr}`);
  process.env[PRODUCT_VARIABLE] = join(dir.path, 'dist/main.js');
  return () => dir[Symbol.dispose]();
}
