/**
 * The release, the commit it was built from, and the directory of the package, found relative to this file both in
 * `src` and in `dist`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '#base';

/** The directory that contains package.json. */
export const PACKAGE_DIR: string = packageDirOf(import.meta.dirname);
export const RELEASE: string = readRelease();
/** Commit recorded by scripts/bundle.ts; `unknown` when running from source or built without a checkout. */
export const COMMIT: string = readCommit();

function packageDirOf(dir: string): string {
  if (existsSync(join(dir, 'package.json'))) return dir;
  assert(dirname(dir) !== dir, 'The server runs from inside its package', import.meta.dirname);
  return packageDirOf(dirname(dir));
}

function readRelease(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_DIR, 'package.json'), 'utf8'));
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  assert(hasVersion && typeof manifest.version === 'string', 'package.json names the release', PACKAGE_DIR);
  return manifest.version;
}

function readCommit(): string {
  const file = join(import.meta.dirname, 'commit');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : 'unknown';
}
