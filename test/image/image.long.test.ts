// Goal: `npm run image` makes a small image, and identical images of identical trees. Method: this checkout is bundled
// in two folders, and the command runs on each with another umask and at another time.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, utimesSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { testDir } from '../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MIB = 2 ** 20;
const BYTES_MAX = 60 * MIB;

function run(umask: string, ...args: readonly string[]): string {
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, ...args],
    options,
  );
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stderr}`);
  return stdout;
}

describe.skipIf(lacksTool('apt-get'))('npm run image', () => {
  it('makes the same small archive of equal trees', { timeout: 300_000 }, () => {
    const dir = testDir();
    const made = ['022', '077'].map((umask, at) => {
      const dist = join(dir, `dist-${at}`);
      const archive = join(dir, `image-${at}.tar`);
      run(umask, 'scripts/bundle.ts', dist);
      utimesSync(join(dist, 'main.js'), at, at);
      const said = run(umask, 'scripts/image.ts', '--dist', dist, '--out', archive);
      process.stdout.write(said);
      return { archive, materials: archive.replace('.tar', '.cdx.json'), digest: said.trimEnd().split('@').at(-1) };
    });
    const [one, other] = made;
    if (one === undefined || other === undefined) throw new Error('two images are made');
    expect(one.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(other.digest).toBe(one.digest);
    expect(readFileSync(other.archive).equals(readFileSync(one.archive))).toBe(true);
    expect(readFileSync(other.materials, 'utf8')).toBe(readFileSync(one.materials, 'utf8'));
    expect(statSync(one.archive).size).toBeLessThan(BYTES_MAX);
  });
});
