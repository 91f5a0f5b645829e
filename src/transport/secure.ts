/**
 * TLS, as the transports see it: servers that speak it, and connections to nodes that do.
 *
 * What certificates there are, and that they are replaced while a node runs, is for whoever makes these (#main).
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

// An import of them would also load what they offer lazily: a client for the web.
const http = process.getBuiltinModule('node:http');

/** The servers of a node; absent: they speak no TLS. */
export interface SecurePorts {
  /** In place of that of node:http. */
  readonly createHttpServer: (options: ServerOptions, listener: RequestListener) => HttpServer;
  /** In place of that of node:net: connections of HTTP/2, once they are through their handshake. */
  readonly createServer: (listener: (socket: Socket) => void) => Server;
}

/** What both sides may say that they speak. */
export type Protocol = 'h2' | 'http/1.1';

/** Connects to a server that speaks TLS, of which the certificate is verified before anything is sent. */
export type Dial = (place: Address, protocol: Protocol) => TLSSocket;

/**
 * Trusts what the context says when a connection begins; without one, the authorities that Node comes with.
 *
 * The connection underneath is dialled by itself, so that it is counted as every other one that is.
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

/** For requests of HTTP that go by such connections. */
export function secureAgent(dial: Dial, options: AgentOptions): HttpAgent {
  class SecureAgent extends http.Agent {
    override createConnection({ host, port }: ClientRequestArgs): TLSSocket {
      return dial({ host: host ?? 'localhost', port: Number(port) }, 'http/1.1');
    }
  }
  return new SecureAgent(options);
}
