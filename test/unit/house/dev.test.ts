// Goal: npm run dev is three nodes that are one cluster, says where they are, and stops all of them. Method: the script
// itself, in a folder of its own and on free ports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const SCRIPT = resolve(import.meta.dirname, '../../../scripts/dev.ts');

it('npm run dev starts three nodes that know each other, and SIGTERM stops all of them', {
  timeout: 240_000,
}, async () => {
  const args = ['--conditions=source', SCRIPT, '--data', testDir(), '--free-ports'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  endWithTest(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 210_000 }).toContain('dev    | all 3 nodes are ready');
  const http = /^node-2 \| process \d+: gRPC \S+, peers \S+, HTTP (\S+)$/m.exec(output)?.[1];
  // Who is started before the one in front of it has joined may get its number.
  expect(output.search(/^node-3 /m)).toBeGreaterThan(output.search(/^node-2 \| process/m));
  const pids = Array.from(output.matchAll(/process (\d+):/g), ([, pid]) => Number(pid));
  expect(pids).toHaveLength(3);
  const created = await fetch(`${http}/api/v1/db`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"database_name": "shop"}',
  });
  expect(created.status).toBe(201);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  for (const name of ['node-1', 'node-2', 'node-3'])
    expect(output).toMatch(new RegExp(`^${name} \\| ended with 0$`, 'm'));
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
