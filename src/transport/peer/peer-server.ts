/**
 * The side of the links that listens: takes frames from whoever means this node, and says who it is. On the same port
 * others ask by gRPC; what a connection begins with tells the two apart.
 *
 * Every stream begins with a greeting, and every frame has a header; both must name this cluster, this node and this
 * store, and a sender that is not known to have another store (TP3). What follows a greeting is of whoever has greeted,
 * and is what its lane carries. A node that is not known at all is heard: it may have joined while this one was away,
 * and what it sends may be what tells of it; what is listened to of it, the core decides.
 */

import type { Socket } from 'node:net';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { type Address, type Result } from '#base';
import {
  type AdminReply,
  carries,
  FRAME_BYTES_MAX,
  type FrameFault,
  type FrameHeader,
  type JoinReply,
  type JoinRequest,
  type Lane,
  type NodeId,
  type NodePlace,
  type ReceivedHeader,
  readFrameHeader,
  type StoreId,
} from '#cluster';
import { type Administer, addAdminMethods } from './admin-methods.ts';
import { JOIN, type Nothing, PING, readNothing, writePong } from './exchange.ts';
import { readJoinRequest, writeJoinReply } from './join-messages.ts';
import { LaneServer } from './lane-server.ts';
import { HELLO_BEGINS, type Hello, type LaneAnswer } from './lane-words.ts';
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
  /** A stream or a frame was refused; the node is who has opened the stream, as far as it says so. */
  readonly onRefused: (node: NodeId | undefined, fault: FrameFault) => void;
}

/** Of one connection that asks. */
const STREAMS_PER_CONNECTION = 16;
const CLOSING: AdminReply = { kind: 'later', reason: 'the node is closing' };
const NO_MORE: FrameFault = { kind: 'closing', words: 'the node is closing' };
/** A connection without streams. */
const IDLE_MS = 30_000;

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #server: Server;
  readonly #injector: ReturnType<Server['createConnectionInjector']>;
  readonly #lanes = new Set<LaneServer>();
  /** Those that were accepted, by who sends what: of each the last one. */
  readonly #heard = new Map<NodeId, Map<Lane, LaneServer>>();
  /** Accepted, and nothing was heard by them yet. */
  readonly #unheard = new Set<Socket>();
  #streamCount = 0;
  #isClosed = false;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#server = new Server(serverOptions(options.limits));
    const ping: handleUnaryCall<Nothing, string> = (_call, respond) => respond(null, options.clusterId);
    const join: handleUnaryCall<Result<JoinRequest, string>, JoinReply> = ({ request }, respond) => {
      void this.#join(request).then(
        (reply) => respond(null, reply),
        (error: Error) => respond({ code: status.INTERNAL, details: error.message }),
      );
    };
    this.#server.register(JOIN, join, writeJoinReply, readJoinRequest, 'unary');
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#server.register(PING, ping, writePong, readNothing, 'unary');
    addAdminMethods(this.#server, async (request) => (this.#isClosed ? CLOSING : options.onAdmin(request)));
  }

  /** Serves a connection that somebody has accepted. */
  serve(connection: Socket): void {
    const silence = setTimeout(() => connection.destroy(), this.#options.limits.silentMs);
    const ended = (): void => clearTimeout(silence);
    const broken = (): void => undefined;
    connection.once('close', ended).once('error', broken);
    this.#unheard.add(connection);
    connection.once('close', () => this.#unheard.delete(connection));
    connection.once('data', (first: Buffer) => {
      this.#unheard.delete(connection);
      clearTimeout(silence);
      connection.off('close', ended);
      if (first[0] === HELLO_BEGINS) return this.#serveLane(connection, first);
      connection.pause();
      connection.unshift(first);
      this.#injector.injectConnection(connection);
      connection.off('error', broken);
    });
  }

  /** Ends all streams at once. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#unheard) connection.destroy();
    for (const lane of this.#lanes) lane.destroy();
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

  #serveLane(connection: Socket, first: Buffer): void {
    let closed: (() => void) | undefined;
    const lane = new LaneServer(connection, {
      limits: this.#options.limits,
      onHello: (hello) => {
        if (hello.kind === 'failure') return this.#refuseStream(undefined, malformed(hello.reason));
        const { header, address } = hello.value;
        const fault = this.#isClosed ? NO_MORE : (this.#faultIn(header) ?? this.#crowded(hello.value));
        if (fault !== undefined) return this.#refuseStream(header.from.node, fault);
        const ended = this.#options.onStream(header.from, address);
        const forget = this.#hearLast(lane, hello.value);
        closed = (): void => {
          forget();
          ended();
        };
        this.#streamCount += 1;
        return this.#accept(header.from);
      },
      onFrame: (frame, hello) => this.#take(frame, hello),
      onExcess: (bytes, { header }) => {
        const words = `a frame of ${bytes} bytes; the longest has ${FRAME_BYTES_MAX}`;
        this.#options.onRefused(header.from.node, malformed(words));
      },
      onClosed: () => {
        this.#streamCount -= 1;
        closed?.();
      },
    });
    this.#lanes.add(lane);
    connection.once('close', () => this.#lanes.delete(lane));
    lane.take(first);
  }

  #refuseStream(node: NodeId | undefined, fault: FrameFault): LaneAnswer {
    this.#options.onRefused(node, fault);
    return { kind: 'refused', reason: fault.words };
  }

  #accept(caller: NodePlace): LaneAnswer {
    const { clusterId, self } = this.#options;
    return { kind: 'accepted', header: { clusterId, from: self, to: caller } };
  }

  /**
   * Ends the stream that its node has opened before for the same lane: it has one, and what is left of another is a
   * connection that was given up over there (TP9).
   */
  #hearLast(stream: LaneServer, { header, lane }: Hello): () => void {
    const { node } = header.from;
    const streams = this.#heard.get(node) ?? new Map<Lane, LaneServer>();
    this.#heard.set(node, streams);
    streams.get(lane)?.destroy();
    streams.set(lane, stream);
    return () => {
      if (streams.get(lane) === stream) streams.delete(lane);
      if (streams.size === 0 && this.#heard.get(node) === streams) this.#heard.delete(node);
    };
  }

  #crowded({ header, lane }: Hello): FrameFault | undefined {
    const { streamsMax, guestsMax } = this.#options.limits;
    const { node } = header.from;
    const streams = this.#heard.get(node);
    if (this.#streamCount >= streamsMax && streams?.has(lane) !== true) {
      return { kind: 'crowded', words: `${streamsMax} streams are open, which is the most at a time` };
    }
    if (streams !== undefined || this.#isNamed(node)) return undefined;
    const guests = [...this.#heard.keys()].filter((other) => !this.#isNamed(other)).length;
    if (guests < guestsMax) return undefined;
    return {
      kind: 'crowded',
      words: `${guestsMax} nodes that are not known here are heard, which is the most at a time`,
    };
  }

  #isNamed(node: NodeId): boolean {
    return this.#options.storeOf(node) !== undefined;
  }

  #take(frame: Uint8Array, { header: { from: caller }, lane }: Hello): void | Promise<void> {
    if (this.#isClosed) return;
    const header = readFrameHeader(frame);
    if (header.kind === 'failure') return this.#options.onRefused(caller.node, malformed(header.reason));
    const fault = this.#faultIn(header.value) ?? faultOn(header.value, caller, lane);
    if (fault !== undefined) return this.#options.onRefused(caller.node, fault);
    return this.#options.onFrame(frame, lane, caller);
  }

  #faultIn({ clusterId, from, to }: FrameHeader): FrameFault | undefined {
    const { self, clusterId: ours, storeOf } = this.#options;
    if (clusterId !== ours) {
      return { kind: 'cluster', words: `it is of the cluster ${clusterId}, this node is of ${ours}` };
    }
    if (to.node !== self.node || to.store !== self.store) {
      const words = `it is for node ${to.node}, store ${to.store}; this is node ${self.node}, store ${self.store}`;
      return { kind: 'receiver', words };
    }
    const known = storeOf(from.node);
    if (known === undefined || known === from.store) return undefined;
    return { kind: 'sender', words: `it is from store ${from.store}; node ${from.node} has store ${known}` };
  }
}

/** What of a frame is not of its stream. */
function faultOn({ from, content }: ReceivedHeader, caller: NodePlace, lane: Lane): FrameFault | undefined {
  if (from.node !== caller.node || from.store !== caller.store) {
    const said = `node ${from.node}, store ${from.store}`;
    return { kind: 'sender', words: `it is from ${said}, on a stream of node ${caller.node}, store ${caller.store}` };
  }
  if (carries(lane, content)) return undefined;
  return { kind: 'lane', words: `${content} came by the lane ${lane}, which does not carry that` };
}

function malformed(words: string): FrameFault {
  return { kind: 'malformed', words };
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
