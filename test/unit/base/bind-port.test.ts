// Goal: a port is bound, or says why not, and an error of its server does not end the process. Method: servers of
// node:net.
import { createServer, type Server } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '#base';
import { LoggedErrors } from '../../support/logged-errors.ts';

const HOST = '127.0.0.1';

async function bound(port: number, logger: LoggedErrors): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return { server, port: await listen(server, { host: HOST, port }, { what: 'HTTP', setting: '--http-port' }, logger) };
}

it('logs each error of a server that listens', async () => {
  const logger = new LoggedErrors();
  const { server } = await bound(0, logger);
  const error = new Error('accept ENOBUFS');
  for (let times = 0; times < 2; times += 1) server.emit('error', error);
  const line = ['port-failed', { port: 'HTTP', error }];
  expect(logger.errors).toEqual([line, line]);
});

it('rejects with the setting of a port that is in use, and logs nothing', async () => {
  const logger = new LoggedErrors();
  const { port } = await bound(0, logger);
  const message = `Cannot listen for HTTP on ${HOST}:${port} (--http-port): listen EADDRINUSE`;
  await expect(bound(port, logger)).rejects.toThrow(message);
  expect(logger.errors).toEqual([]);
});
