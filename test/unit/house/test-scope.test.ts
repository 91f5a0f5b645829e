// Goal: what a test owns ends in the right order: its processes are gone before its folder goes. Method: a process that
// writes into the folder for as long as it runs; a second test looks at what the first has left.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const WRITER = `const { mkdirSync, writeFileSync } = process.getBuiltinModule('node:fs');
for (let i = 0; ; i++) {
  mkdirSync(process.argv[1] + '/' + i, { recursive: true });
  writeFileSync(process.argv[1] + '/' + i + '/file', '');
  if (i === 10) console.log('writes');
}`;

describe('a test that ends while its process writes', () => {
  const left = { dir: '', wasThere: false, pid: 0 };

  it('has a folder', async () => {
    left.dir = testDir();
    onTestFinished(() => {
      left.wasThere = existsSync(left.dir) && !existsSync(`/proc/${left.pid}`);
    });
    const child = spawn(process.execPath, ['-e', WRITER, left.dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    endWithTest(child);
    left.pid = child.pid ?? 0;
    await once(child.stdout, 'data');
    expect(existsSync(`/proc/${left.pid}`)).toBe(true);
  });

  it('leaves neither, and the process went first', () => {
    expect(left.wasThere).toBe(true);
    expect(existsSync(left.dir)).toBe(false);
  });
});
