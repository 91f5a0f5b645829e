/**
 * The side of the links that listens: takes frames from whoever means this node, and says who it is.
 *
 * Every stream begins with a greeting, and every frame has a header; both must name this cluster, this node and this
 * store, and a sender that is not known to have another store (TP3). A node that is not known at all is heard: it may
 * have joined while this one was away, and what it sends may be what tells of it.
 */

import type { Socket } from 'node:net';
import {
  type handleClientStreamingCall,
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerReadableStream,
  status,
} from '@grpc/grpc-js';
import { type Address, type Result } from '#base';
import {
  type AdminReply,
  type FrameHeader,
  type JoinReply,
  type JoinRequest,
  type Lane,
  type NodeId,
  type NodePlace,
  readFrameHeader,
  type StoreId,
} from '#cluster';
import { type Administer, addAdminMethods } from './admin-methods.ts';
import {
  DELIVER,
  greeting,
  JOIN,
  NOTHING,
  type Nothing,
  PING,
  readGreeting,
  readNothing,
  readRequest,
  writeNothing,
  writePong,
} from './exchange.ts';
import { readJoinRequest, writeJoinReply } from './join-messages.ts';
import type { PeerLimits } from './limits.ts';

/** For the operator of a node that belongs to what there was before. */
const OTHER_CLUSTER =
  'a cluster that was recovered from one node is another one, which the others join with empty data directories';

export interface PeerServerOptions {
  readonly clusterId: string;
  readonly self: NodePlace;
  readonly limits: PeerLimits;
  /** The store that a node is known to have. */
  readonly storeOf: (node: NodeId) => StoreId | undefined;
  readonly onFrame: (frame: Uint8Array, lane: Lane, from: NodePlace) => void | Promise<void>;
  /** A stream was accepted. What is returned is called when it has ended. */
  readonly onStream: (caller: NodePlace, address: Address | undefined) => () => void;
  /** A store asks to be registered, or says where it is now; its cluster is this one, if it has one. */
  readonly onJoin: (request: JoinRequest) => Promise<JoinReply>;
  /** An operator asks something of the cluster. */
  readonly onAdmin: Administer;
  /** A stream or a frame was refused. */
  readonly onRefused: (node: NodeId | undefined, reason: string) => void;
}

type Incoming = ServerReadableStream<Uint8Array, Nothing>;

/** Of one connection: a lane, and pings. */
const STREAMS_PER_CONNECTION = 16;
const CLOSING: AdminReply = { kind: 'later', reason: 'the node is closing' };
/** A connection without streams. */
const IDLE_MS = 30_000;

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #server: Server;
  readonly #injector: ReturnType<Server['createConnectionInjector']>;
  #streamCount = 0;
  #isClosed = false;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#server = new Server(serverOptions(options.limits));
    const deliver: handleClientStreamingCall<Uint8Array, Nothing> = (call, respond) => {
      const refusal = this.#accept(call);
      if (refusal === undefined) call.once('end', () => respond(null, NOTHING));
      else respond({ code: status.FAILED_PRECONDITION, details: refusal });
    };
    const ping: handleUnaryCall<Nothing, string> = (_call, respond) => respond(null, options.clusterId);
    const join: handleUnaryCall<Result<JoinRequest, string>, JoinReply> = ({ request }, respond) => {
      void this.#join(request).then(
        (reply) => respond(null, reply),
        (error: Error) => respond({ code: status.INTERNAL, details: error.message }),
      );
    };
    this.#server.register(JOIN, join, writeJoinReply, readJoinRequest, 'unary');
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#server.register(DELIVER, deliver, writeNothing, readRequest, 'clientStream');
    this.#server.register(PING, ping, writePong, readNothing, 'unary');
    addAdminMethods(this.#server, async (request) => (this.#isClosed ? CLOSING : options.onAdmin(request)));
  }

  /** Serves a connection that somebody has accepted. */
  serve(connection: Socket): void {
    this.#injector.injectConnection(connection);
  }

  /** Ends all streams at once. */
  close(): void {
    this.#isClosed = true;
    this.#server.forceShutdown();
  }

  async #join(request: Result<JoinRequest, string>): Promise<JoinReply> {
    if (request.kind === 'failure') return { kind: 'refused', reason: request.reason };
    const { clusterId } = request.value;
    const { clusterId: ours, onJoin } = this.#options;
    if (this.#isClosed) return { kind: 'later', reason: 'the node is closing' };
    if (clusterId === undefined || clusterId === ours) return onJoin(request.value);
    return { kind: 'refused', reason: `this is the cluster ${ours}, and not ${clusterId}; ${OTHER_CLUSTER}` };
  }

  /** Why the stream is refused, or undefined: then its frames are taken from now on. */
  #accept(call: Incoming): string | undefined {
    const hello = readGreeting(call.metadata);
    const caller = hello.kind === 'ok' ? hello.value.header.from : undefined;
    const refusal = this.#isClosed ? 'the node is closing' : (this.#faultIn(helloHeader(hello)) ?? this.#crowded());
    if (hello.kind === 'failure' || caller === undefined || refusal !== undefined) {
      const reason = refusal ?? 'the stream has no greeting';
      this.#options.onRefused(caller?.node, reason);
      return reason;
    }
    const { lane, address } = hello.value;
    const ended = this.#options.onStream(caller, address);
    this.#streamCount += 1;
    call.once('close', () => {
      this.#streamCount -= 1;
      ended();
    });
    // A stream that breaks off ends; its sender opens another.
    call.on('error', () => undefined);
    call.on('data', (frame: Uint8Array) => this.#take(call, frame, lane));
    call.sendMetadata(this.#answerTo(caller, lane));
    return undefined;
  }

  #answerTo(caller: NodePlace, lane: Lane): Metadata {
    const { clusterId, self } = this.#options;
    return greeting({ header: { clusterId, from: self, to: caller }, lane, address: undefined });
  }

  #crowded(): string | undefined {
    const { streamsMax } = this.#options.limits;
    return this.#streamCount < streamsMax ? undefined : `${streamsMax} streams are open, which is the most at a time`;
  }

  #take(call: Incoming, frame: Uint8Array, lane: Lane): void {
    if (this.#isClosed) return;
    const header = readFrameHeader(frame);
    const fault = this.#faultIn(header);
    if (header.kind === 'failure' || fault !== undefined) {
      this.#options.onRefused(header.kind === 'ok' ? header.value.from.node : undefined, fault ?? 'no frame');
      return;
    }
    const taking = this.#options.onFrame(frame, lane, header.value.from);
    if (taking === undefined) return;
    call.pause();
    void taking.finally(() => call.resume());
  }

  #faultIn(header: Result<FrameHeader, string>): string | undefined {
    if (header.kind === 'failure') return header.reason;
    const { clusterId, from, to } = header.value;
    const { self, clusterId: ours, storeOf } = this.#options;
    if (clusterId !== ours) return `it is of the cluster ${clusterId}, this node is of ${ours}`;
    if (to.node !== self.node || to.store !== self.store) {
      return `it is for node ${to.node}, store ${to.store}; this is node ${self.node}, store ${self.store}`;
    }
    const known = storeOf(from.node);
    if (known === undefined || known === from.store) return undefined;
    return `it is from store ${from.store}; node ${from.node} has store ${known}`;
  }
}

function helloHeader(hello: ReturnType<typeof readGreeting>): Result<FrameHeader, string> {
  return hello.kind === 'ok' ? { kind: 'ok', value: hello.value.header } : hello;
}

function serverOptions(limits: PeerLimits): Record<string, number> {
  return {
    'grpc.max_receive_message_length': limits.messageBytesMax,
    'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION,
    'grpc.keepalive_time_ms': limits.pingEveryMs,
    'grpc.keepalive_timeout_ms': limits.pingTimeoutMs,
    'grpc.max_connection_idle_ms': IDLE_MS,
    // grpc-js knows its connections, and can end them, only with the traces of channelz (1.14.7).
    'grpc.enable_channelz': 1,
  };
}
