/** npm run lock: adds to package-lock.json the packages of other platforms that the registry at hand did not list. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type LockPackages, missingPlatforms, withPlatforms } from './support/lock-platforms.ts';

const path = resolve(import.meta.dirname, '../package-lock.json');
const lock: { readonly packages: LockPackages } = JSON.parse(readFileSync(path, 'utf8'));
const missing = missingPlatforms(lock.packages);
if (missing.size > 0)
  writeFileSync(path, `${JSON.stringify({ ...lock, packages: withPlatforms(lock.packages) }, null, 2)}\n`);
console.log(`${missing.size} packages of other platforms added`);
