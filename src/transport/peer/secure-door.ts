/**
 * Verifies that accepted connections of a TLS port come from peers.
 *
 * ```
 *   accepted ── its first byte ── is of TLS ── shakes hands ── shows a certificate of the authority ──> served
 *      │              │                            │                     └── none, or another ──> told why, and closed
 *      │              └── is another ──> a lane receives why; closed. Where TLS is preferred: served
 *      └── silent or slow, or the oldest of too many that are ──> closed
 * ```
 * No byte of a lane or a request is read before the handshake is complete. A new connection evicts a silent one, so
 * that a node, which is quick, always gets a slot; served connections have slots of their own.
 */
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { quote } from '#base';
import type { FrameFault } from '#cluster';
import { HELLO_BEGINS, writeAnswer } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import {
  contextOf,
  hasOtherSecret,
  isSecret,
  OTHER_SECRET,
  type PeerTls,
  type PeerTlsMaterial,
  SPEAKS_TLS,
  serverOptionsOf,
} from './peer-tls.ts';

export interface SecureDoorOptions {
  readonly tls: PeerTls;
  readonly limits: PeerLimits;
  /** Maximum number of connections to the port; absent: unlimited. */
  readonly connectionsMax: number | undefined;
  /** A verified connection, of which nothing was read; without TLS, reading must be resumed. */
  readonly onConnection: (connection: Socket) => void;
  readonly onRefused: (fault: FrameFault) => void;
}

/** The first byte of a TLS handshake record. */
export const TLS_BEGINS = 0x16;
/** Share of the connections for those in verification. */
const SHAKING_PART = 1 / 4;
const SECOND_MS = 1_000;
/** Maximum bytes to read of a refused connection: a hello, or the preface of HTTP/2. */
const UNHEARD_BYTES_MAX = 16 * 1024;

/** A connection in verification. */
interface Shaking {
  readonly socket: Socket;
  readonly from: string;
  readonly stopWaiting: () => void;
}

export class SecureDoor {
  readonly #options: SecureDoorOptions;
  readonly #server: Server;
  /** Current credentials of the server. */
  #shown: PeerTlsMaterial;
  /** Connections in verification by remote address; the oldest first. */
  readonly #shaking = new Map<string, Shaking>();
  readonly #shakingMax: number;
  /** Number of handshakes in the second from then on. */
  #begun = { count: 0, sinceMs: 0 };

  constructor(options: SecureDoorOptions) {
    const { tls, limits, connectionsMax = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#shakingMax = Math.max(1, Math.min(limits.handshakesMax, Math.floor(connectionsMax * SHAKING_PART)));
    this.#shown = tls.material;
    const serving = { ...serverOptionsOf(tls), ALPNProtocols: ['h2'] };
    this.#server = process.getBuiltinModule('node:tls').createServer(serving);
    this.#server.on('secureConnection', (socket) => this.#shaken(socket));
    this.#server.on('tlsClientError', (failure, socket) => this.#failed(failure, socket));
  }

  /** Takes an accepted connection. */
  take(socket: Socket): void {
    const from = originOf(socket);
    const { limits } = this.#options;
    const [oldest] = this.#shaking.values();
    if (this.#shaking.size >= this.#shakingMax && oldest !== undefined) {
      this.#end(oldest, { kind: 'crowded', words: `${this.#shakingMax} connections are not through their handshake` });
    }
    const timer = setTimeout(() => {
      this.#end(shaking, { kind: 'handshake', words: `it was not through its handshake in ${limits.handshakeMs} ms` });
    }, limits.handshakeMs);
    const shaking = { socket, from, stopWaiting: (): void => clearTimeout(timer) };
    this.#shaking.set(from, shaking);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#forget(shaking));
    socket.once('data', (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      if (first[0] === TLS_BEGINS) this.#shake(shaking);
      else this.#takePlain(shaking, first[0] === HELLO_BEGINS);
    });
  }

  /** Ends all connections in verification. */
  close(): void {
    for (const { socket } of this.#shaking.values()) socket.destroy();
  }

  #shake(shaking: Shaking): void {
    const { tls, limits } = this.#options;
    const nowMs = performance.now();
    if (nowMs >= this.#begun.sinceMs + SECOND_MS) this.#begun = { count: 0, sinceMs: nowMs };
    this.#begun.count += 1;
    if (this.#begun.count > limits.handshakesPerSecondMax) {
      const words = `${limits.handshakesPerSecondMax} handshakes have begun in a second, the limit`;
      return this.#end(shaking, { kind: 'crowded', words });
    }
    if (tls.material !== this.#shown) {
      this.#shown = tls.material;
      this.#server.setSecureContext(contextOf(this.#shown));
    }
    this.#server.emit('connection', shaking.socket);
  }

  #shaken(socket: TLSSocket): void {
    const shaking = this.#shaking.get(originOf(socket));
    if (shaking === undefined) return void socket.destroy();
    // The handshake of a client without the secret fails earlier.
    if (socket.authorized || isSecret(this.#shown)) return this.#serve(shaking, socket);
    const shown = socket.getPeerX509Certificate();
    // The types of Node.js know no certificate without a subject.
    const { subject = '' }: { readonly subject?: string } = shown ?? {};
    const why = `${socket.authorizationError}`;
    const words =
      shown === undefined
        ? 'no certificate was shown, and this port takes those of its authority of peers alone'
        : `the certificate of ${quote(subject)} is not one of the authority of peers here, or is not valid (${why})`;
    this.#refuse(shaking, socket, words);
  }

  #takePlain(shaking: Shaking, isLane: boolean): void {
    const { socket } = shaking;
    if (this.#options.tls.mode === 'prefer') {
      this.#serve(shaking, socket);
      socket.resume();
    } else if (isLane) this.#refuse(shaking, socket, SPEAKS_TLS);
    else this.#end(shaking, { kind: 'handshake', words: 'it speaks no TLS' });
  }

  #serve(shaking: Shaking, socket: Socket): void {
    this.#forget(shaking);
    this.#options.onConnection(socket);
  }

  /** Sends the reason as an answer of a lane, within a bounded time. */
  #refuse({ from }: Shaking, socket: Socket, words: string): void {
    this.#options.onRefused({ kind: 'handshake', words: `${from}: ${words}` });
    socket.on('error', () => undefined);
    socket.end(writeAnswer({ kind: 'refused', reason: words }));
    // Unread input would reset the connection and lose the reason in transit; a flood is not read to its end.
    let read = 0;
    socket.on('data', (bytes) => {
      read += bytes.length;
      if (read > UNHEARD_BYTES_MAX) socket.destroy();
    });
    socket.resume();
  }

  #failed(failure: Error, socket: TLSSocket): void {
    const shaking = this.#shaking.get(originOf(socket));
    socket.destroy();
    const words = hasOtherSecret(failure) ? OTHER_SECRET : reasonOf(failure);
    if (shaking !== undefined) this.#end(shaking, { kind: 'handshake', words });
  }

  #end(shaking: Shaking, { kind, words }: FrameFault): void {
    this.#options.onRefused({ kind, words: `${shaking.from}: ${words}` });
    this.#forget(shaking);
    shaking.socket.destroy();
  }

  #forget(shaking: Shaking): void {
    shaking.stopWaiting();
    if (this.#shaking.get(shaking.from) === shaking) this.#shaking.delete(shaking.from);
  }
}

/** Remote address; equal for the TCP socket and the TLS socket of a connection. */
function originOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

/** Only the middle of OpenSSL's message: around it are positions in its source. */
function reasonOf({ message }: Error): string {
  return /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message;
}
