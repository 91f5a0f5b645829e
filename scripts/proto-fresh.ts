/**
 * npm run proto:fresh: fails when the committed generated code is not what `npm run proto` would write,
 * or when the proto files break the rules of buf.yaml. Generates into a temporary folder; changes nothing.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compareTrees } from './support/compare-trees.ts';

const GENERATED = 'proto/gen';
const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'cairn-proto-'));

try {
  execFileSync('buf', ['lint'], { cwd: root, stdio: 'inherit' });
  execFileSync('buf', ['generate', '--output', scratch], { cwd: root, stdio: 'inherit' });
  const stale = compareTrees(join(root, GENERATED), join(scratch, GENERATED)).map((line) => `${GENERATED}/${line}`);
  for (const line of stale) console.error(line);
  console.log(stale.length === 0 ? 'generated code is fresh' : 'generated code is stale: run npm run proto');
  process.exitCode = stale.length === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true });
}
