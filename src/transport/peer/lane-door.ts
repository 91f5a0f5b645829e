/**
 * The listening side of lanes: accepts frames for this node, and identifies itself.
 *
 * Every stream begins with a hello, and every frame has a header; both must name this cluster, this node and this
 * store, and a sender without another known store (TP3). The frames after a hello come from that node, with content of
 * its lane. An unknown node is accepted: it may have joined while this one was down, and its frames may announce it;
 * the core decides which of them to process.
 */
import type { Address, NodeId } from '#base';
import {
  carries,
  type FrameFault,
  type FrameHeader,
  type Lane,
  type NodePlace,
  type ReceivedHeader,
  readFrameHeader,
  type StoreId,
} from '#cluster';
import { LaneServer } from './lane-server.ts';
import type { Hello, LaneAnswer } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import type { HeardRun, Run } from './runs.ts';
import type { LaneWorld, Wire } from './wire.ts';

export interface LaneDoorOptions {
  readonly clusterId: string;
  readonly self: NodePlace;
  readonly run: number;
  readonly limits: PeerLimits;
  readonly world: LaneWorld;
  /** The known store of a node. */
  readonly storeOf: (node: NodeId) => StoreId | undefined;
  /** Fault of a process beside another one of its node. */
  readonly duplicate: (store: StoreId, process: Run) => FrameFault | undefined;
  readonly onFrame: (frame: Uint8Array, lane: Lane, from: NodePlace) => void | Promise<void>;
  /** A stream was accepted. */
  readonly onStream: (caller: NodePlace, address: Address | undefined) => void;
  /** The last stream of a node has ended. */
  readonly onSilent: (node: NodeId) => void;
  /** A stream or a frame was refused; `node` is the opener of the stream, if it is named. */
  readonly onRefused: (node: NodeId | undefined, fault: FrameFault) => void;
}

const NO_MORE: FrameFault = { kind: 'closing', words: 'the node is closing' };

export class LaneDoor {
  readonly #options: LaneDoorOptions;
  readonly #lanes = new Set<LaneServer>();
  #isClosed = false;

  constructor(options: LaneDoorOptions) {
    this.#options = options;
  }

  /** Serves an accepted connection of a lane, whose first bytes were read. */
  serve(connection: Wire, first: Uint8Array): void {
    const lane = new LaneServer(connection, {
      limits: this.#options.limits,
      world: this.#options.world,
      onHello: (hello) => {
        if (hello.kind === 'failure') return this.#refuseStream(undefined, malformed(hello.reason));
        const { header, address } = hello.value;
        const fault = this.#isClosed ? NO_MORE : this.#faultInHello(hello.value);
        if (fault !== undefined) return this.#refuseStream(header.from.node, fault);
        this.#options.onStream(header.from, address);
        // The previous one is the rest of a connection that its node has abandoned (TP9).
        this.#same(hello.value)?.destroy();
        return this.#accept(header.from);
      },
      onFrame: (frame, hello) => this.#take(frame, hello),
      onFault: (words, { header }) => this.#options.onRefused(header.from.node, malformed(words)),
      onClosed: ({ header: { from } }) => {
        if (!this.#streams.some(({ header }) => header.from.node === from.node)) this.#options.onSilent(from.node);
      },
    });
    this.#lanes.add(lane);
    connection.on('close', () => this.#lanes.delete(lane));
    lane.take(first);
  }

  /** Processes of the store that have streams here. */
  heardOf(store: string): readonly HeardRun[] {
    return [...this.#lanes].flatMap(({ heard }) => (heard?.place.store === store ? [heard] : []));
  }

  /** Ends all streams at once. */
  close(): void {
    this.#isClosed = true;
    for (const lane of this.#lanes) lane.destroy();
  }

  #refuseStream(node: NodeId | undefined, fault: FrameFault): LaneAnswer {
    this.#options.onRefused(node, fault);
    return { kind: fault.kind === 'duplicate' ? 'duplicate' : 'refused', reason: fault.words };
  }

  #accept(caller: NodePlace): LaneAnswer {
    const { clusterId, self, run } = this.#options;
    return { kind: 'accepted', header: { clusterId, from: self, to: caller }, run };
  }

  /** The accepted streams that are open. */
  get #streams(): readonly Hello[] {
    return [...this.#lanes].flatMap(({ hello = [] }) => hello);
  }

  /** The open stream of a node for the same lane. */
  #same({ header: { from }, lane }: Hello): LaneServer | undefined {
    return [...this.#lanes].find(({ hello }) => hello?.lane === lane && hello.header.from.node === from.node);
  }

  #faultInHello(hello: Hello): FrameFault | undefined {
    const { header } = hello;
    return this.#faultIn(header) ?? this.#options.duplicate(header.from.store, hello) ?? this.#crowded(hello);
  }

  #crowded(hello: Hello): FrameFault | undefined {
    const { streamsMax, guestsMax } = this.#options.limits;
    const { node } = hello.header.from;
    const nodes = this.#streams.map(({ header }) => header.from.node);
    if (nodes.length >= streamsMax && this.#same(hello) === undefined) {
      return { kind: 'crowded', words: `${streamsMax} streams are open, which is the most at a time` };
    }
    if (nodes.includes(node) || this.#isNamed(node)) return undefined;
    const guests = new Set(nodes.filter((other) => !this.#isNamed(other))).size;
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
      const words = `the sender belongs to the cluster ${clusterId}, the receiver, node ${self.node}, to the cluster ${ours}`;
      return { kind: 'cluster', words };
    }
    if (to.node !== self.node || to.store !== self.store) {
      const words = `the sender means node ${to.node}, store ${to.store}; the receiver is node ${self.node}, store ${self.store}`;
      return { kind: 'receiver', words };
    }
    const known = storeOf(from.node);
    if (known === undefined || known === from.store) return undefined;
    const words = `the sender is node ${from.node}, store ${from.store}; for the receiver, node ${self.node}, node ${from.node} has store ${known}`;
    return { kind: 'sender', words };
  }
}

/** Fault of a frame that does not belong to its stream. */
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
