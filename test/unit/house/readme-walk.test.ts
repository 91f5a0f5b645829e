// Goal: the walk through a cluster that README.md shows is what happens to whoever types it: a transaction on one node,
// a read at its revision on another one, the end of the leader, and on; and what is refused is refused at once. Method:
// the commands of the page themselves, in a shell, with the addresses and the folder of nodes on free ports, and with
// the sources as the command; its `post` alone, before a server that answers what it is told.
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PORTS = ['3000', '3010', '3020'];
const STARTED = { timeout: 120_000 };
const run = promisify(execFile);

/** The commands behind `npm run dev`. */
function walkOf(page: string): string {
  const [, behind = ''] = page.split('npm run dev\n```\n');
  const walk = /^```sh\n(.*?)^```$/ms.exec(behind)?.[1];
  if (walk === undefined) throw new Error('README.md shows no commands behind `npm run dev`');
  return walk;
}

const README = readFileSync(resolve(ROOT, 'README.md'), 'utf8');

it.each([
  ['a refusal', [409, 200], 1],
  ['a fault of what was sent', [400, 200], 1],
  ['a node without a leader', [503, 503, 200], 3],
])('`post` of README.md sends again where that helps: %s', { timeout: 60_000 }, async (_what, statuses, sent) => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(statuses[count++] ?? 200).end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const [post = ''] = /^post\(\) .*$/m.exec(walkOf(README)) ?? [];
  const ended = await run('bash', ['-c', `${post}\npost -d '{}' http://127.0.0.1:${port}/`]).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
  server.close();
  expect([count, ended]).toEqual([sent, statuses[sent - 1] === 200 ? 0 : 22]);
});

it('what README.md shows of a cluster happens as it says', { timeout: 300_000 }, async () => {
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
  const page = walkOf(README);
  const walk = places
    .reduce((text, { port, free }) => text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), free), page)
    .replaceAll('npm start --silent -- cluster status', status)
    .replaceAll('cat data/', `cat ${dir}/`);
  expect(walk).not.toMatch(/\bnpm\b|\bdata\//);

  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', walk], { cwd: ROOT });
  const answers = stdout.split('\n').filter((line) => line !== '');
  expect(answers.map((answer): unknown => JSON.parse(answer))).toMatchObject([
    { database: 'walk', revision: 0 },
    { transaction: { revision: 1, replayed: false } },
    { id: '1', revision: 1 },
    { transaction: { revision: 2 } },
    { id: '2', revision: 2 },
  ]);
  expect(output.match(/^node-\d \| ended with \S+$/gm)).toEqual([
    expect.stringMatching(/^node-\d \| ended with SIGKILL$/),
  ]);
});
