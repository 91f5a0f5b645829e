// Goal: `post` of README.md sends again where that helps, and nowhere else. Method: a server that answers what it is
// told.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readmeWalk } from '../../support/readme-walk.ts';

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
  const [post = ''] = /^post\(\) .*$/m.exec(readmeWalk()) ?? [];
  const ended = await promisify(execFile)('bash', ['-c', `${post}\npost -d '{}' http://127.0.0.1:${port}/`]).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
  server.close();
  expect([count, ended]).toEqual([sent, statuses[sent - 1] === 200 ? 0 : 22]);
});
