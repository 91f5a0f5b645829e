/** The peer port of a node: gRPC and lanes of other nodes, told apart by the first bytes of a connection. */
import type { Socket } from 'node:net';
import type { ErrorLog } from '#base';
import type { FrameFault } from '#cluster';
import { createByteBudgets } from '../byte-budgets.ts';
import type { MethodMeter } from '../grpc/wire/method-traits.ts';
import type { WireLimits } from '../grpc/wire/parts.ts';
import { ENDED, refusalsOf } from '../grpc/wire/refusals.ts';
import { WireServer } from '../grpc/wire/server.ts';
import { STATUS_OF_CODE } from '../grpc/wire/status.ts';
import { HELLO_BEGINS, writeAnswer } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import { type PeerMethodsOptions, peerMethods } from './peer-methods.ts';
import { SPEAKS_NO_TLS } from './peer-tls.ts';
import { TLS_BEGINS } from './secure-door.ts';
import type { Wire } from './wire.ts';

export interface PeerServerOptions extends PeerMethodsOptions {
  readonly limits: PeerLimits;
  /** Maximum number of connections to the port; absent: unlimited. */
  readonly connectionsMax: number | undefined;
  readonly logger: ErrorLog;
  /** A node has opened a lane; `first` are its first bytes. */
  readonly onLane: (connection: Wire, first: Uint8Array) => void;
  /** A connection was refused. */
  readonly onRefused: (fault: FrameFault) => void;
}

/** Maximum number of gRPC connections, and their share of all. One more replaces an idle one. */
const CONNECTIONS_MAX = 64;
const CONNECTIONS_PART = 1 / 4;
/** Streams of one gRPC connection: no client needs more at once. */
const STREAMS_PER_CONNECTION = 16;
/** Bytes of a request to join, or of an admin request; and of all requests that arrive. */
const REQUEST_BYTES_MAX = 64 * 1024;
const REQUESTS_BYTES_MAX = 8 * 2 ** 20;
/** Bytes of unsent replies: some descriptions of many databases. */
const UNSENT_BYTES_MAX = 128 * 2 ** 20;
/** Time for a request to arrive, and for a reply to be read. */
const TRANSFER_MS = 30_000;

const NOTHING = (): void => undefined;
const UNMETERED: MethodMeter = { started: NOTHING, received: NOTHING, sent: NOTHING, ended: NOTHING };

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #server: WireServer;
  /** Accepted connections that are neither a lane nor gRPC yet. */
  readonly #unserved = new Set<Socket>();

  constructor(options: PeerServerOptions) {
    const limits = limitsOf(options);
    this.#options = options;
    this.#server = new WireServer({
      methods: peerMethods(options),
      limits,
      ...createByteBudgets({ requestBytesMax: REQUESTS_BYTES_MAX, unsentBytesMax: UNSENT_BYTES_MAX }),
      meterOf: () => UNMETERED,
      logger: options.logger,
      statusOf: (failure, _method, onBug) => onBug(failure),
      onRefused: NOTHING,
      onConnectionEnded: (why, { socket }) => this.#refuse(socket, { kind: 'malformed', words: ENDED[why] }),
      refusals: refusalsOf(limits.callsMax, ({ code, message }, as = STATUS_OF_CODE[code]) => ({ code: as, message })),
    });
  }

  /** Serves an accepted connection. */
  take(connection: Socket): void {
    const silence = setTimeout(() => connection.destroy(), this.#options.limits.silentMs);
    const served = (): void => {
      clearTimeout(silence);
      this.#unserved.delete(connection);
      connection.off('close', served);
    };
    const broken = (): void => undefined;
    this.#unserved.add(connection);
    connection.once('close', served).once('error', broken);
    connection.once('data', (first: Buffer) => {
      if (first[0] === TLS_BEGINS) return this.#refuseTls(connection);
      served();
      if (first[0] === HELLO_BEGINS) return this.#options.onLane(connection.setNoDelay(true), first);
      connection.pause();
      connection.unshift(first);
      this.#server.accept(connection);
    });
  }

  /** Ends all gRPC connections at once. */
  close(): void {
    for (const connection of this.#unserved) connection.destroy();
    this.#server.cut();
  }

  #refuse({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>, fault: FrameFault): void {
    this.#options.onRefused({ ...fault, words: `${remoteAddress}:${remotePort}: ${fault.words}` });
  }

  /** Without TLS, the other side recognises any answer as such, and ends; if it does not, a timeout ends it. */
  #refuseTls(connection: Socket): void {
    const words = 'it speaks TLS, and this node was started without --peer-secret-file and --peer-tls-cert-file';
    this.#refuse(connection, { kind: 'handshake', words });
    connection.end(writeAnswer({ kind: 'refused', reason: SPEAKS_NO_TLS }));
    connection.resume();
  }
}

function limitsOf({ limits, connectionsMax = Number.POSITIVE_INFINITY }: PeerServerOptions): WireLimits {
  return {
    requestBytesMax: REQUEST_BYTES_MAX,
    streamsPerConnectionMax: STREAMS_PER_CONNECTION,
    lastingStreamsMax: STREAMS_PER_CONNECTION,
    openingMs: limits.silentMs,
    connectionsMax: Math.max(1, Math.min(CONNECTIONS_MAX, Math.floor(connectionsMax * CONNECTIONS_PART))),
    callsMax: { waiting: 0, reading: 0 },
    pingEveryMs: limits.pingEveryMs,
    pingTimeoutMs: limits.pingTimeoutMs,
    receiveMs: TRANSFER_MS,
    lingerMs: TRANSFER_MS,
  };
}
