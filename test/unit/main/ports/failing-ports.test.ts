// Goal: an error of a server after the start is logged, and ends no process. Method: every server of a node that
// listens in this thread, with an error that Node.js would emit.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import { expect, it } from 'vitest';
import { type LogFields, silentLogger } from '#observability';
import { startServers } from '../../../../src/main/node/servers.ts';
import { readInvocation } from '../../../../src/main/settings/config.ts';
import { tempDir } from '../../../support/temp-dir.ts';

/** Diagnostics channel of Node.js. */
const LISTENS = 'tracing:net.server.listen:asyncEnd';

it('logs the errors of all ports', async () => {
  using dir = tempDir();
  const ports = ['grpc', 'http', 'mcp', 'metrics'].map((name) => `--${name}-port=0`);
  const small = ['--wal-segment-bytes=4MiB', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];
  const read = readInvocation([`--data-dir=${dir.path}`, '--bootstrap=alone', ...ports, ...small], {});
  if (read.kind === 'failure' || read.value.kind !== 'run') throw new Error('these settings start a node');
  const logged: (readonly [string, unknown])[] = [];
  const error = (event: string, { port }: LogFields = {}): void => void logged.push([event, port]);
  const servers: Server[] = [];
  const listens = (message: unknown): void => void servers.push((message as { server: Server }).server);
  subscribe(LISTENS, listens);
  await using stack = new AsyncDisposableStack();
  const node = await startServers(read.value.config, { ...silentLogger, error });
  stack.defer(() => node.drain());
  unsubscribe(LISTENS, listens);
  for (const server of servers) if (server.listening) server.emit('error', new Error('accept ENOBUFS'));
  const expected = ['HTTP', 'HTTP', 'MCP', 'MCP', 'gRPC', 'gRPC', 'metrics'];
  expect(logged.map(([, port]) => port).toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual(expected);
  expect(logged.every(([event]) => event === 'port-failed')).toBe(true);
});
