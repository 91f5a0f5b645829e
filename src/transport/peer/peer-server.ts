/** The peer port of a node: gRPC and lanes of other nodes, told apart by the first bytes of a connection. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type handleUnaryCall, Server, ServerCredentials, setLogger, status } from '@grpc/grpc-js';
import type { Result } from '#base';
import type { Administer, AdminReply, Asker, Belonging, FrameFault, JoinReply, JoinRequest } from '#cluster';
import { FrameFloods, headBytes } from '../frame-floods.ts';
import { announceSettings, HEADER_PAIRS_MAX, NO_HPACK_TABLE, setHttp2Options } from '../opening.ts';
import { addAdminMethods, askerOf } from './admin-methods.ts';
import { JOIN, type Nothing, PING, readNothing, writePong } from './exchange.ts';
import { readJoinRequest, writeJoinReply } from './join-messages.ts';
import { HELLO_BEGINS, writeAnswer } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import { SPEAKS_NO_TLS } from './peer-tls.ts';
import { TLS_BEGINS } from './secure-door.ts';
import type { Wire } from './wire.ts';

export interface PeerServerOptions {
  readonly belonging: () => Belonging;
  readonly limits: PeerLimits;
  /** A node has opened a lane; `first` are its first bytes. */
  readonly onLane: (connection: Wire, first: Uint8Array) => void;
  /** A connection was refused. */
  readonly onRefused: (fault: FrameFault) => void;
  /** A store asks to be registered, or a node announces its address; its cluster is this one, if it has one. */
  readonly onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply>;
  /** An operator sends an admin request. */
  readonly onAdmin: Administer;
}

const IS_NEW = 'the node belongs to no cluster itself yet';
/** Streams of one gRPC connection. */
const STREAMS_PER_CONNECTION = 16;
/** Unlike at the port of clients nghttp2 enforces the number of streams itself: no client needs more at once. */
const SETTINGS = { ...NO_HPACK_TABLE, maxConcurrentStreams: STREAMS_PER_CONNECTION };
/** Bytes of a request to join, or of an admin request. */
const REQUEST_BYTES_MAX = 64 * 1024;
const CLOSING: AdminReply = { kind: 'later', reason: 'the node is closing' };
const STREAM_CREATED = 'http2.server.stream.created';
/** Idle timeout of a connection without streams. */
const IDLE_MS = 30_000;

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #server: Server;
  readonly #injector: ReturnType<Server['createConnectionInjector']>;
  /** Accepted connections that are neither a lane nor served by grpc-js yet. */
  readonly #unserved = new Set<Socket>();
  readonly #onStream = (message: unknown): void => {
    if (!isCreation(message)) return;
    const { stream } = message;
    ignoreLateResponse(stream);
    if (stream.session !== undefined) this.#watchHeaders(stream.session);
  };
  readonly #watched = new WeakSet<Http2Session>();
  readonly #floods: FrameFloods;
  #isClosed = false;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#floods = new FrameFloods((socket) => this.#refuse(socket, 'far more frames than those of requests'));
    subscribe(STREAM_CREATED, this.#onStream);
    // The logger is global in the thread. By default grpc-js writes to stderr, such as about invalid headers (O2).
    setLogger({ error: (...parts) => options.onRefused({ kind: 'handshake', words: parts.join(' ') }) });
    this.#server = new Server(serverOptions(options.limits));
    setHttp2Options(this.#server, { settings: SETTINGS });
    const ping: handleUnaryCall<Nothing, Belonging> = (_call, respond) => respond(null, options.belonging());
    const join: handleUnaryCall<Result<JoinRequest, string>, JoinReply> = (call, respond) => {
      void this.#join(call.request, askerOf(call)).then(
        (reply) => respond(null, reply),
        (error: Error) => respond({ code: status.INTERNAL, details: error.message }),
      );
    };
    this.#server.register(JOIN, join, writeJoinReply, readJoinRequest, 'unary');
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#server.register(PING, ping, writePong, readNothing, 'unary');
    addAdminMethods(this.#server, async (request, asker) => {
      return this.#isClosed ? CLOSING : options.onAdmin(request, asker);
    });
  }

  /** Serves an accepted connection. */
  take(connection: Socket): void {
    const { limits, onLane } = this.#options;
    const silence = setTimeout(() => connection.destroy(), limits.silentMs);
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
      if (first[0] === HELLO_BEGINS) {
        served();
        return onLane(connection.setNoDelay(true), first);
      }
      const onOpen = (): void => {
        served();
        this.#injector.injectConnection(connection);
        connection.off('error', broken);
      };
      connection.pause();
      connection.unshift(first);
      const [streams, withinMs] = [STREAMS_PER_CONNECTION, limits.silentMs];
      announceSettings({ socket: connection, streams, own: SETTINGS, withinMs, floods: this.#floods, onOpen });
      connection.resume();
    });
  }

  /** Ends all gRPC connections at once. */
  close(): void {
    this.#isClosed = true;
    unsubscribe(STREAM_CREATED, this.#onStream);
    for (const connection of this.#unserved) connection.destroy();
    this.#server.forceShutdown();
  }

  #refuse({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>, what: string): string {
    const words = `${remoteAddress}:${remotePort}: ${what}`;
    this.#options.onRefused({ kind: 'malformed', words });
    return words;
  }

  /** Ends the session at the first request of too many headers: decoding them is the main cost. */
  #watchHeaders(session: Http2Session): void {
    if (this.#watched.has(session)) return;
    this.#watched.add(session);
    const requests = this.#floods.requestsOf(session.socket);
    session.prependListener('stream', (stream: ServerHttp2Stream, _headers: object, _flags: unknown, raw: string[]) => {
      requests.count += headBytes(raw);
      // Not `on`, which would make the stream flow before grpc-js listens.
      stream.prependListener('data', (piece: Uint8Array) => {
        requests.count += piece.length;
      });
      if (raw.length <= 2 * HEADER_PAIRS_MAX || session.destroyed) return;
      const words = this.#refuse(session.socket, `a request has ${raw.length / 2} headers`);
      session.destroy(new Error(words), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  }

  /** Without TLS, the other side recognises any answer as such, and ends; if it does not, a timeout ends it. */
  #refuseTls(connection: Socket): void {
    const words = 'it speaks TLS, and this node was started without --peer-secret-file and --peer-tls-cert-file';
    const from = `${connection.remoteAddress}:${connection.remotePort}`;
    this.#options.onRefused({ kind: 'handshake', words: `${from}: ${words}` });
    connection.end(writeAnswer({ kind: 'refused', reason: SPEAKS_NO_TLS }));
    connection.resume();
  }

  async #join(request: Result<JoinRequest, string>, asker: Asker): Promise<JoinReply> {
    if (request.kind === 'failure') return { kind: 'refused', reason: request.reason };
    if (this.#isClosed) return { kind: 'later', reason: 'the node is closing' };
    const { onJoin, belonging } = this.#options;
    const own = belonging();
    if (own.kind !== 'member') return { kind: 'later', reason: own.kind === 'new' ? IS_NEW : 'the node is starting' };
    const { clusterId } = request.value;
    if (clusterId === undefined || clusterId === own.clusterId) return onJoin(request.value, asker);
    return { kind: 'later', reason: `it belongs to the cluster ${own.clusterId}, and not to ${clusterId}` };
  }
}

/**
 * grpc-js refuses an unknown path or content type by `respond`, also when the client has reset the stream already. That
 * throws in the event loop, where nothing catches it, and would end the process (1.14.7).
 */
function ignoreLateResponse(stream: ServerHttp2Stream): void {
  const respond = stream.respond.bind(stream);
  stream.respond = (...response) => {
    if (!stream.closed && !stream.destroyed) respond(...response);
  };
}

function isCreation(message: unknown): message is { readonly stream: ServerHttp2Stream } {
  return typeof message === 'object' && message !== null && 'stream' in message;
}

function serverOptions(limits: PeerLimits): Record<string, number> {
  return {
    'grpc.max_receive_message_length': REQUEST_BYTES_MAX,
    'grpc.keepalive_time_ms': limits.pingEveryMs,
    'grpc.keepalive_timeout_ms': limits.pingTimeoutMs,
    'grpc.max_connection_idle_ms': IDLE_MS,
    // grpc-js tracks its connections, and can end them, only with channelz enabled (1.14.7).
    'grpc.enable_channelz': 1,
  };
}
