/** Nodes with a replica that fail in every possible way, for tests of nodes that relay calls and requests to them. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { constants, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { type DatabaseError, NO_BYTES, toNodeId } from '#base';
import type { Holder } from '#service';
import { statusOfError } from '../../src/transport/grpc/error-status.ts';
import { errorReply } from '../../src/transport/http/errors.ts';
import { isUntried, UNTRIED } from '../../src/transport/relay.ts';

/** A failing node that accepts both protocols and records the requests. */
export interface FailingHolder extends Holder {
  /** Streams and requests that arrived. */
  readonly asked: readonly unknown[];
  /** Reset codes of closed streams, and `aborted` for requests whose client disconnected. */
  readonly ended: readonly (number | string)[];
}

export type Failing =
  /** No server listens. */
  | { readonly kind: 'dead' }
  /** The kernel accepts connections, but no process answers. */
  | { readonly kind: 'silent' }
  | {
      readonly kind: 'answering';
      readonly call: (stream: ServerHttp2Stream) => void;
      readonly request: (request: IncomingMessage, response: ServerResponse) => void;
    };

let count = 0;

export async function failingHolder(failing: Failing): Promise<FailingHolder> {
  const asked: unknown[] = [];
  const ended: (number | string)[] = [];
  count++;
  const place = { node: toNodeId(count), name: `failing-${count}`, isNear: false, asked, ended };
  const [grpc, http] = await Promise.all(serversOf(failing, asked, ended).map(listening));
  return { ...place, grpc: `127.0.0.1:${grpc}`, http: `http://127.0.0.1:${http}` };
}

function serversOf(failing: Failing, asked: unknown[], ended: (number | string)[]): readonly (Server | undefined)[] {
  if (failing.kind === 'dead') return [undefined, undefined];
  if (failing.kind === 'silent') return [createServer(), createServer()];
  const calls = createHttp2Server().on('stream', (stream) => {
    asked.push(stream);
    stream.on('error', () => undefined);
    stream.once('close', () => ended.push(stream.rstCode));
    failing.call(stream);
  });
  const requests = createHttpServer((request, response) => {
    // Health checks succeed, regardless of other requests.
    if (request.url === '/health') return void response.end('OK');
    asked.push(request);
    response.once('close', () => ended.push(response.writableFinished ? 'answered' : 'aborted'));
    failing.request(request, response);
  });
  return [calls, requests];
}

/** The port; without a server, a port that was free a moment ago. */
async function listening(server: Server | undefined): Promise<number> {
  const bound = server ?? createServer();
  const sockets = new Set<Socket>();
  bound.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => void bound.listen(0, '127.0.0.1', resolve));
  const { port } = bound.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => bound.close(resolve));
  };
  if (server === undefined) await close();
  else onTestFinished(close);
  return port;
}

/** Receives the request and breaks the connection. */
export const BREAKS: Extract<Failing, { readonly kind: 'answering' }> = {
  kind: 'answering',
  call: (stream) => stream.on('data', () => stream.session?.destroy()),
  request: (request) => request.on('data', () => undefined).on('end', () => request.socket.destroy()),
};

/** Receives the request and ends the call, or all calls of the connection, as a node over its memory budget does. */
export function cutsOff(what: 'call' | 'connection'): Failing {
  const code = constants.NGHTTP2_ENHANCE_YOUR_CALM;
  return {
    ...BREAKS,
    call: (stream) =>
      stream.resume().once('end', () => {
        if (what === 'call') stream.close(code);
        else stream.session?.destroy(new Error('The connection has ended'), code);
      }),
  };
}

/** Refuses the request before processing it. */
export const REFUSES: Extract<Failing, { readonly kind: 'answering' }> = {
  kind: 'answering',
  call: (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
  request: (_request, response) => void response.writeHead(503, { [UNTRIED]: 'true' }).end('{}'),
};

/** Reads the request and answers with this failure. */
export function refusesWith(failure: DatabaseError): Failing {
  const { code, details = NO_BYTES } = statusOfError(failure);
  const trailers = {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': status[code],
    'grpc-status-details-bin': Buffer.from(details).toString('base64'),
  };
  const { status: httpStatus, contentType = '', body } = errorReply(failure);
  return {
    kind: 'answering',
    call: (stream) => stream.resume().once('end', () => stream.respond(trailers, { endStream: true })),
    request: (request, response) =>
      request.resume().once('end', () => {
        const untried = isUntried(failure.details.reason) ? { [UNTRIED]: 'true' } : {};
        response.writeHead(httpStatus, { 'content-type': contentType, ...untried }).end(body);
      }),
  };
}

/** Receives the request and never answers. */
export const HANGS: Failing = {
  kind: 'answering',
  call: (stream) => void stream.resume(),
  request: (request) => void request.resume(),
};

/** Starts its answer and breaks the connection. */
export function breaksAfter(message: Uint8Array): Failing {
  return {
    kind: 'answering',
    call: (stream) => {
      const headers = { ':status': 200, 'content-type': 'application/grpc', 'x-revision': '7' };
      stream.respond(headers, { waitForTrailers: true });
      stream.write(message, () => setImmediate(() => stream.session?.destroy()));
    },
    request: (request, response) => {
      response.writeHead(200, { 'content-length': message.length + 1 });
      response.write(message, () => setImmediate(() => request.socket.destroy()));
    },
  };
}

export interface StoppingHolder extends Holder {
  /** Stops answering, like a paused process whose kernel still accepts connections and bytes. */
  stop(): void;
  /** Number of chunks that arrived after `stop`. */
  received(): number;
}

/** A proxy in front of a node that answers. */
export async function stoppingHolder(behind: Holder): Promise<StoppingHolder> {
  let isStopped = false;
  let received = 0;
  const take = (): void => void (received += 1);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const ports = [behind.grpc, new URL(behind.http).host].map((address) => Number(address.split(':').at(-1)));
  const relays = ports.map((port) =>
    createServer((client) => {
      sockets.add(client);
      if (isStopped) return void client.on('data', take);
      clients.add(client);
      const server = connect(port, '127.0.0.1').on('error', () => client.destroy());
      sockets.add(server);
      client.on('close', () => server.destroy()).pipe(server);
      server.on('close', () => client.destroy()).pipe(client);
    }),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const [grpc, http] = await Promise.all(relays.map(listening));
  const stop = (): void => {
    isStopped = true;
    for (const socket of sockets) socket.unpipe().pause();
    for (const client of clients) client.on('data', take).resume();
  };
  return { ...behind, grpc: `127.0.0.1:${grpc}`, http: `http://127.0.0.1:${http}`, stop, received: () => received };
}
