/**
 * TLS servers whose certificate can be replaced while they run.
 *
 * ```
 *   accepted ── handshake ──> handed to the server
 *      └── no TLS, another version, no valid certificate, too slow ──> closed and reported
 * ```
 *
 * Open connections keep the certificate of their handshake. A connection in its handshake has no request yet, and is
 * closed with the server.
 */
import { constants } from 'node:crypto';
import type { Server as HttpServer, RequestListener, ServerOptions } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createServer, type SecureContextOptions, type TLSSocket, type TlsOptions } from 'node:tls';
import type { SecurePorts } from '#transport';
import type { ServingMaterial } from './tls-files.ts';

/** Time limit of a handshake; a client on another continent needs less than a second. */
const HANDSHAKE_MS = 10_000;

export interface TlsPortsOptions {
  /** Requirement of a certificate from gRPC clients, when there are authorities for them. */
  readonly clientAuth: 'request' | 'require';
  readonly handshakeMs?: number;
  /** Called for each connection that ended before its handshake was complete, with the reason. */
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

  /** Takes effect from the next handshake on. */
  replace(serving: ServingMaterial): void {
    this.#serving = serving;
    for (const { server, asksClients } of this.#listening) server.setSecureContext(this.#context(asksClients));
  }

  readonly createHttpServer = (options: ServerOptions, listener: RequestListener): HttpServer => {
    const https = process.getBuiltinModule('node:https');
    const secure = { ...this.#context(false), ...this.#handshake(), ALPNProtocols: ['http/1.1'] };
    const server = https.createServer({ ...options, ...secure }, listener);
    // The default listener would answer a failed handshake as a malformed request.
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
    // A resumed session would skip the check of the certificate, which may have expired meanwhile.
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
      // Node.js reports the timeout, but leaves the socket open.
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

/** Key that is the same for the TLS socket and the TCP socket of a connection. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Reason to close a connection although its handshake succeeded. */
function faultOf(socket: TLSSocket, asksClients: boolean): string | undefined {
  // A client without ALPN is not known to speak HTTP/2.
  if (socket.alpnProtocol !== 'h2') return 'no ALPN protocol';
  const hasShown = asksClients && socket.getPeerX509Certificate() !== undefined;
  return hasShown && !socket.authorized ? String(socket.authorizationError) : undefined;
}
