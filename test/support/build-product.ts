// Builds the bundle once before the tests of a run, so that every node process that they start runs the shipped code,
// next to the manifest and the packages. chaos/support/product.ts tells the tests where it is.
import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { tempDir } from './temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Global setup of Vitest, which returns the teardown; several suites share one build. */
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
