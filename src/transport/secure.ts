/**
 * TLS of transports: servers that use it, and connections to nodes that do.
 *
 * #main makes the certificates, and replaces them while a node runs.
 */
import type {
  AgentOptions,
  ClientRequestArgs,
  Agent as HttpAgent,
  Server as HttpServer,
  RequestListener,
  ServerOptions,
} from 'node:http';
import { connect, isIP, type Server, type Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Address } from '#base';

// An import would also load modules that it offers lazily: a client for the web.
const http = process.getBuiltinModule('node:http');

/** Creates TLS servers of a node; absent: plain servers. */
export interface SecurePorts {
  /** Replaces that of node:http. */
  readonly createHttpServer: (options: ServerOptions, listener: RequestListener) => HttpServer;
  /** Replaces that of node:net: HTTP/2 connections after their handshake. */
  readonly createServer: (listener: (socket: Socket) => void) => Server;
}

/** Protocols to negotiate. */
export type Protocol = 'h2' | 'http/1.1';

/** Connects to a TLS server, whose certificate is verified before anything is sent. */
export type Dial = (place: Address, protocol: Protocol) => TLSSocket;

/**
 * Trusts the authorities of the context at the start of a connection; without one, those of Node.
 *
 * The underlying connection is dialled separately, so that it is counted like every other one.
 */
export function dialWith(contextOf: () => SecureContext | undefined): Dial {
  return ({ host, port }, protocol) =>
    process.getBuiltinModule('node:tls').connect({
      socket: connect({ host, port, noDelay: true }),
      host,
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: [protocol],
      minVersion: 'TLSv1.2',
      secureContext: contextOf(),
    });
}

/** An agent for HTTP requests over such connections. */
export function secureAgent(dial: Dial, options: AgentOptions): HttpAgent {
  class SecureAgent extends http.Agent {
    override createConnection({ host, port }: ClientRequestArgs): TLSSocket {
      return dial({ host: host ?? 'localhost', port: Number(port) }, 'http/1.1');
    }
  }
  return new SecureAgent(options);
}
