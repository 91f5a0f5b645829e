/**
 * Serves the requests of the API server to a node: logs of containers, and commands in them (`kubectl exec`) over a
 * WebSocket with the subprotocol v5.channel.k8s.io. The first byte of each message names a channel, and the last
 * message has the result of the command as a Status. Commands have neither an input nor a terminal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Issued } from '../../support/certificates.ts';
import { HOST } from '../world.ts';
import type { Container } from './container.ts';
import type { Kubelet } from './kubelet.ts';
import { KUBELET_PORT } from './node.ts';

const CHANNELS = { stdout: 1, stderr: 2, error: 3 };
const NORMAL_CLOSURE = 1000;

export async function serveKubelet(kubelet: Kubelet, tls: Issued): Promise<void> {
  /** Reads a path of the form /VERB/NAMESPACE/POD/CONTAINER?OPTIONS. */
  const read = ({ url = '/' }: IncomingMessage) => {
    const { pathname, searchParams: options } = new URL(url, `https://${HOST}`);
    const [, verb, namespace = '', pod = '', name = ''] = pathname.split('/');
    return { verb, container: kubelet.find(namespace, pod)?.container(name), options };
  };
  // The server takes the first protocol that a client offers.
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer(tls, (request, response) => {
    const { verb, container, options } = read(request);
    if (verb === 'containerLogs' && container !== undefined) sendLog(container, options, response);
    else response.writeHead(404).end('not found\n');
  });
  server.on('upgrade', (request, socket, head) => {
    const { verb, container, options } = read(request);
    if (verb !== 'exec' || container?.child === undefined) socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    else sockets.handleUpgrade(request, socket, head, (client) => void execute(client, container.id, options));
  });
  await once(server.listen(KUBELET_PORT, HOST), 'listening');
}

/** Sends the log of a container, and with `follow` its growth until the process ends. */
function sendLog(container: Container, options: URLSearchParams, response: ServerResponse): void {
  const path = container.logPath(options.get('previous') === 'true' ? 1 : 0);
  if (!existsSync(path)) return void response.writeHead(404).end(`${container.id} has no such log\n`);
  const isFollowed = options.get('follow') === 'true' && container.child !== undefined;
  const follow = isFollowed ? ['--follow', '--sleep-interval=0.2', `--pid=${container.child?.pid}`] : [];
  const args = [`--lines=${options.get('tailLines') ?? '+1'}`, ...follow, path];
  const tail = spawn('tail', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
  tail.stdout.pipe(response).on('close', () => tail.kill());
}

/** Runs a command in a container until it ends. */
async function execute(client: WebSocket, id: string, options: URLSearchParams): Promise<void> {
  const child = spawn('runc', ['exec', id, ...options.getAll('command')], { stdio: ['ignore', 'pipe', 'pipe'] });
  const sendTo = (channel: number) => (data: Uint8Array) => client.send(Buffer.concat([Buffer.of(channel), data]));
  child.stdout.on('data', sendTo(CHANNELS.stdout));
  child.stderr.on('data', sendTo(CHANNELS.stderr));
  client.on('error', () => child.kill()).on('close', () => child.kill());
  const [code]: (number | null)[] = await once(child, 'close');
  sendTo(CHANNELS.error)(Buffer.from(JSON.stringify(statusOf(code ?? 1))));
  client.close(NORMAL_CLOSURE);
}

function statusOf(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  const causes = [{ reason: 'ExitCode', message: String(code) }];
  return { metadata: {}, status: 'Failure', reason: 'NonZeroExitCode', details: { causes } };
}
