// The bundle of a release that knows one feature level less: that of the same sources, with another range of levels.
// The level of the cluster alone decides what is written (ADR 0047). This release, built with a lower maximum, writes
// what an earlier release would have written, and refuses what that one could not read.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LEVELS } from '#base';
import { testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'operator/src', 'charts/cairn/dashboards', 'proto', 'scripts', 'package.json'];

/** Builds it for a test; the folder of the bundle. */
export function earlierRelease(): string {
  const dir = testDir();
  for (const name of SOURCES) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  const levels = join(dir, 'src/base/levels.ts');
  const [before, ...behind] = readFileSync(levels, 'utf8').split(`max: ${LEVELS.max} }`);
  if (behind.length !== 1) throw new Error(`${levels} does not say the highest level once`);
  writeFileSync(levels, [before, ...behind].join(`max: ${LEVELS.max - 1} }`));
  const dist = join(dir, 'dist');
  const { status, stderr } = spawnSync(process.execPath, ['scripts/bundle.ts', dist], { cwd: dir, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the earlier release cannot be built:\n${stderr}`);
  return dist;
}
