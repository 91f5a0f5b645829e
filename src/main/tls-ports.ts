/**
 * Servers that speak TLS, with a certificate that can be replaced while they run.
 *
 * ```
 *   accepted ── handshake ──> handed to the server
 *      └── no TLS, another version, no valid certificate, too slow ──> closed, and told of
 * ```
 *
 * What is open goes on with the certificate that it began with. A connection in its handshake is no request of anybody,
 * and is closed with the server.
 */
import { constants } from 'node:crypto';
import type { Server as HttpServer, RequestListener, ServerOptions } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createServer, type SecureContextOptions, type TLSSocket, type TlsOptions } from 'node:tls';
import type { SecurePorts } from '#transport';
import type { ServingMaterial } from './tls-files.ts';

/** What the client of a handshake may take; a node of another continent takes less than one second. */
const HANDSHAKE_MS = 10_000;

export interface TlsPortsOptions {
  /** Of clients of gRPC, where there are authorities for them. */
  readonly clientAuth: 'request' | 'require';
  readonly handshakeMs?: number;
  /** Told of each connection that has ended before its handshake was over, and why. */
  readonly onFailed: (why: string) => void;
}

interface Listening {
  readonly server: Pick<Server, 'close' | 'on'> & { setSecureContext(options: SecureContextOptions): void };
  readonly asksClients: boolean;
}

export class TlsPorts implements SecurePorts {
  #serving: ServingMaterial;
  readonly #options: TlsPortsOptions;
  readonly #listening: Listening[] = [];

  constructor(serving: ServingMaterial, options: TlsPortsOptions) {
    this.#serving = serving;
    this.#options = options;
  }

  /** From the next handshake on. */
  replace(serving: ServingMaterial): void {
    this.#serving = serving;
    for (const { server, asksClients } of this.#listening) server.setSecureContext(this.#context(asksClients));
  }

  readonly createHttpServer = (options: ServerOptions, listener: RequestListener): HttpServer => {
    const https = process.getBuiltinModule('node:https');
    const secure = { ...this.#context(false), ...this.#handshake(), ALPNProtocols: ['http/1.1'] };
    const server = https.createServer({ ...options, ...secure }, listener);
    // It would have a failed handshake answered as a request that is none.
    server.removeAllListeners('tlsClientError');
    this.#add({ server, asksClients: false });
    return server;
  };

  readonly createServer = (listener: (socket: Socket) => void): Server => {
    const asksClients = this.#serving.clientAuthorities !== undefined;
    const isRequired = asksClients && this.#options.clientAuth === 'require';
    const server = createServer(
      {
        ...this.#context(asksClients),
        ...this.#handshake(),
        noDelay: true,
        ALPNProtocols: ['h2'],
        requestCert: asksClients,
        rejectUnauthorized: isRequired,
      },
      (socket) => {
        const fault = faultOf(socket, asksClients);
        if (fault === undefined) listener(socket);
        else {
          this.#options.onFailed(fault);
          socket.destroy();
        }
      },
    );
    this.#add({ server, asksClients });
    return server;
  };

  #context(asksClients: boolean): SecureContextOptions {
    const { context, clientAuthorities } = this.#serving;
    const shared = { ...context, minVersion: 'TLSv1.2' } as const;
    if (!asksClients) return shared;
    // Whoever comes back shows its certificate again: one that has expired meanwhile is then found.
    return { ...shared, ca: clientAuthorities, secureOptions: constants.SSL_OP_NO_TICKET };
  }

  #handshake(): Pick<TlsOptions, 'handshakeTimeout'> {
    return { handshakeTimeout: this.#options.handshakeMs ?? HANDSHAKE_MS };
  }

  #add(listening: Listening): void {
    const { server } = listening;
    this.#listening.push(listening);
    const shaking = new Map<string, Socket>();
    let isClosing = false;
    server.on('connection', (socket: Socket) => {
      const peer = peerOf(socket);
      shaking.set(peer, socket);
      socket.once('close', () => {
        if (shaking.get(peer) === socket) shaking.delete(peer);
      });
    });
    server.on('secureConnection', (socket: TLSSocket) => shaking.delete(peerOf(socket)));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      if (!isClosing)
        this.#options.onFailed('code' in error && typeof error.code === 'string' ? error.code : error.message);
      // After its time Node tells of it, and leaves it open.
      socket.destroy();
    });
    const close = server.close.bind(server);
    server.close = (done) => {
      const closing = close(done);
      isClosing = true;
      for (const socket of shaking.values()) socket.destroy();
      return closing;
    };
  }
}

/** Of the two sockets of a connection, the one beneath and the one above, the same. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Why a connection that is through its handshake is of no use all the same. */
function faultOf(socket: TLSSocket, asksClients: boolean): string | undefined {
  // Who has not said what it speaks is not known to speak HTTP/2.
  if (socket.alpnProtocol !== 'h2') return 'no ALPN protocol';
  const hasShown = asksClients && socket.getPeerX509Certificate() !== undefined;
  return hasShown && !socket.authorized ? String(socket.authorizationError) : undefined;
}
