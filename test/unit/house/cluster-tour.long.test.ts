// Goal: the commands of docs/cluster-tour.md have the results that the page shows: npm run dev starts three nodes of
// one cluster, one of them is killed, and SIGTERM stops the others. Method: the commands of the page in a shell, with
// free ports, a temporary folder, and the sources as the command.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { clusterTour } from '../../support/cluster-tour.ts';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PORTS = ['3000', '3010', '3020'];
const STARTED = { timeout: 120_000 };
const run = promisify(execFile);

it('the commands of docs/cluster-tour.md have the results that the page shows', { timeout: 300_000 }, async () => {
  const dir = testDir();
  const args = ['--conditions=source', 'scripts/dev.ts', '--data', dir, '--free-ports'];
  const dev = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  endWithTest(dev);
  let output = '';
  dev.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, STARTED).toContain('dev    | all 3 nodes are ready');

  const places = PORTS.map((port, at) => {
    const said = new RegExp(`^node-${at + 1} \\| .*, peers (\\S+), HTTP http://127\\.0\\.0\\.1:(\\d+)$`, 'm').exec(
      output,
    );
    return { port, peer: said?.[1] ?? '', free: said?.[2] ?? '' };
  });
  const cairn = `${process.execPath} --conditions=source src/main/main.ts`;
  const status = `${cairn} cluster status --at=${places[0]?.peer}`;
  const page = clusterTour();
  const commands = places
    .reduce((text, { port, free }) => text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), free), page)
    .replaceAll('npm start --silent -- cluster status', status)
    .replaceAll('cat data/', `cat ${dir}/`);
  expect(commands).not.toMatch(/\bnpm\b|\bdata\//);

  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: ROOT });
  const answers = stdout.split('\n').filter((line) => line !== '');
  expect(answers.map((answer): unknown => JSON.parse(answer))).toMatchObject([
    { database: 'tour', revision: 0 },
    { transaction: { revision: 1, replayed: false } },
    { id: '1', revision: 1 },
    { transaction: { revision: 2 } },
    { id: '2', revision: 2 },
  ]);
  const ends = (): readonly string[] =>
    Array.from(output.matchAll(/^node-\d \| ended with (\S+)$/gm), ([, how = '']) => how);
  expect(ends()).toEqual(['SIGKILL']);
  // A node that starts before the previous one has joined may get its number.
  expect(output.search(/^node-3 /m)).toBeGreaterThan(output.search(/^node-2 \| process/m));
  const pids = Array.from(output.matchAll(/process (\d+):/g), ([, pid]) => Number(pid));
  dev.kill('SIGTERM');
  expect(await once(dev, 'exit')).toEqual([0, null]);
  expect(ends()).toEqual(['SIGKILL', '0', '0']);
  expect(pids).toHaveLength(3);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
