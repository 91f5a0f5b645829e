/**
 * Binds the client ports before the node opens its data directory or asks to join a cluster. If another process uses a
 * port, the start fails before anything was written and before another node knows of this one.
 *
 * ```
 *   bound ── HTTP: 503, gRPC: closed ──> taken by its server, with what waits in its backlog ──> served
 * ```
 * Connections from that time end with their first answer, or when all ports are served.
 */
import type { Server as HttpServer, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { type Address, listen } from '#base';
import { answerProbe, type Logger, type Probes } from '#observability';
import type { HeldPort, SecurePorts } from '#transport';
import { untilFree } from './free-port.ts';

/** Clients that connect during a start only learn that they have to wait. */
const CONNECTIONS_MAX = 64;
const CONNECTION_MS = 5_000;
const RETRY_AFTER_SECONDS = 1;

export interface HeldPortsOptions {
  readonly logger: Logger;
  /** Absent: the ports do not use TLS. */
  readonly secure: SecurePorts | undefined;
}

export class HeldPorts implements Disposable {
  /** Reason why the node does not serve yet; it is part of each answer. */
  reason: string | undefined;
  readonly #options: HeldPortsOptions;
  readonly #held: Held[] = [];

  constructor(options: HeldPortsOptions) {
    this.#options = options;
  }

  /** `probes`: the probes that are answered at the port. @throws DatabaseError when the address cannot be bound. */
  http(what: 'HTTP' | 'MCP', address: Address, probes?: Probes): Promise<HeldPort> {
    const create = this.#options.secure?.createHttpServer ?? process.getBuiltinModule('node:http').createServer;
    return this.#hold(
      what,
      address,
      create({}, (request, response) => {
        if (probes === undefined || !answerProbe(request, response, probes)) this.#refuseHttp(response);
      }),
    );
  }

  /** Connections are closed, which is UNAVAILABLE for a gRPC client. @throws DatabaseError when it cannot be bound. */
  grpc(address: Address): Promise<HeldPort> {
    const create = this.#options.secure?.createServer ?? process.getBuiltinModule('node:net').createServer;
    return this.#hold(
      'gRPC',
      address,
      create((socket: Socket) => socket.destroy()),
    );
  }

  /** Closes the remaining connections, and the ports that no server has taken over. */
  [Symbol.dispose](): void {
    for (const each of this.#held) each.close();
  }

  async #hold(what: 'gRPC' | 'HTTP' | 'MCP', { host, port }: Address, server: HttpServer | Server): Promise<HeldPort> {
    await untilFree({ host, port }, this.#options.logger);
    const held = new Held(server);
    this.#held.push(held);
    const named = { what, setting: `--${what.toLowerCase()}-port` };
    const bound = await listen(server, { host, port }, named, this.#options.logger);
    return { port: bound, take: () => held.take() };
  }

  #refuseHttp(response: ServerResponse): void {
    const reason = this.reason ?? 'it opens its data directory';
    const message = `The node is starting: ${reason}. Retry, or use another node`;
    const error = { code: 'INTERNAL', message, details: { reason: 'Starting' } };
    response.writeHead(503, {
      'content-type': 'application/json',
      'retry-after': String(RETRY_AFTER_SECONDS),
      connection: 'close',
      // A node that relays asks another one. The name is that of #transport, which is not loaded yet.
      'x-cairn-untried': 'true',
    });
    response.end(JSON.stringify({ error }));
  }
}

class Held {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isTaken = false;

  constructor(server: Server) {
    this.#server = server;
    server.maxConnections = CONNECTIONS_MAX;
    server.on('connection', (socket: Socket) => {
      const late = setTimeout(() => socket.destroy(), CONNECTION_MS);
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        clearTimeout(late);
        this.#sockets.delete(socket);
      });
    });
  }

  take(): object {
    this.#isTaken = true;
    return this.#server;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#isTaken) this.#server.close();
  }
}
