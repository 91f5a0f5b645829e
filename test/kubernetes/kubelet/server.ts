/** What the API server asks a node for: logs of containers (--follow, --previous, --tail), and commands in them. */
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { HOST } from '../world.ts';
import type { Container } from './container.ts';
import { execute } from './exec-server.ts';
import type { Kubelet } from './kubelet.ts';
import { KUBELET_PORT } from './node.ts';

const FOLLOW_MS = 200;

export async function serveKubelet(
  kubelet: Kubelet,
  tls: { readonly cert: string; readonly key: string },
): Promise<void> {
  const server = createServer(tls, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', `https://${HOST}`);
    const [, verb, namespace = '', name = '', containerName = ''] = pathname.split('/');
    const container = kubelet.find(namespace, name)?.container(containerName);
    if (verb !== 'containerLogs' || container === undefined) response.writeHead(404).end('not found\n');
    else void sendLog(container, searchParams, response).catch((error: unknown) => response.end(`${String(error)}\n`));
  });
  server.on('upgrade', (request, socket) => {
    const [, verb, namespace = '', name = '', containerName = ''] = new URL(
      request.url ?? '/',
      `https://${HOST}`,
    ).pathname.split('/');
    const container = kubelet.find(namespace, name)?.container(containerName);
    if (verb === 'exec' && container?.isRunning === true) void execute(request, socket, container.id);
    else socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
  });
  await once(server.listen(KUBELET_PORT, HOST), 'listening');
}

async function sendLog(container: Container, options: URLSearchParams, response: ServerResponse): Promise<void> {
  await using file = await open(container.logPath(options.get('previous') === 'true'));
  response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
  const tail = options.get('tailLines');
  let { bytesRead, text } = await readOn(file, 0);
  response.write(
    tail === null
      ? text
      : text
          .split('\n')
          .slice(-1 - Number(tail))
          .join('\n'),
  );
  while (options.get('follow') === 'true' && container.isRunning && !response.destroyed) {
    await delay(FOLLOW_MS);
    const more = await readOn(file, bytesRead);
    ({ text } = more);
    bytesRead += more.bytesRead;
    response.write(text);
  }
  response.end();
}

async function readOn(
  file: FileHandle,
  position: number,
): Promise<{ readonly bytesRead: number; readonly text: string }> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.max(0, size - position));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
  return { bytesRead, text: buffer.toString('utf8', 0, bytesRead) };
}
