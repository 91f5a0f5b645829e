// Goal: `post` of docs/cluster-tour.md retries a request when a retry can succeed. Method: a server with scripted
// statuses.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { clusterTour } from '../../support/cluster-tour.ts';

it.each([
  ['does not retry a conflict', [409, 200], 1],
  ['does not retry an invalid request', [400, 200], 1],
  ['retries a node without a leader', [503, 503, 200], 3],
])('`post` of docs/cluster-tour.md %s', { timeout: 60_000 }, async (_what, statuses, sent) => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(statuses[count++] ?? 200).end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const [post = ''] = /^post\(\) .*$/m.exec(clusterTour()) ?? [];
  const ended = await promisify(execFile)('bash', ['-c', `${post}\npost -d '{}' http://127.0.0.1:${port}/`]).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
  server.close();
  expect([count, ended]).toEqual([sent, statuses[sent - 1] === 200 ? 0 : 22]);
});
