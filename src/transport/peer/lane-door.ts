/**
 * The listening side of lanes: reads a hello, answers it, and passes on the frames that follow.
 *
 * Every stream begins with a hello, and every frame has a header; both must name this cluster, this node and this
 * store, and a sender without another known store (TP3). The frames after a hello come from that node, with content of
 * its lane. An unknown node is accepted: it may have joined while this one was down, and its frames may announce it;
 * the core decides which of them to process.
 *
 * Nothing is read while a frame is being processed, so a ping then gets no answer. So this side announces unasked that
 * it is alive, twice in each timeout for an answer, because both sides count from the start of the connection.
 */
import { type Address, concatBytes, NO_BYTES, type NodeId } from '#base';
import {
  carries,
  FRAME_BYTES_MAX,
  type FrameFault,
  type FrameHeader,
  type Lane,
  type PeerIdentity,
  type ReceivedHeader,
  readFrameHeader,
  type StoreId,
} from '#cluster';
import {
  ECHO,
  HERE,
  type Hello,
  helloLength,
  type LaneAnswer,
  RECORD_HEAD_BYTES,
  readHello,
  recordLength,
  writeAnswer,
} from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import type { HeardRun, Run } from './runs.ts';
import type { LaneWorld, Wire } from './wire.ts';

export interface LaneDoorOptions {
  readonly clusterId: string;
  readonly self: PeerIdentity;
  readonly run: number;
  readonly limits: PeerLimits;
  readonly world: LaneWorld;
  readonly storeOf: (node: NodeId) => StoreId | undefined;
  /** Fault of a process beside another one of its node. */
  readonly duplicate: (store: StoreId, process: Run) => FrameFault | undefined;
  readonly onFrame: (frame: Uint8Array, lane: Lane, from: PeerIdentity) => void | Promise<void>;
  /** A stream was accepted. */
  readonly onStream: (caller: PeerIdentity, address: Address | undefined) => void;
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
    const lane = new LaneServer(connection, this, this.#options);
    this.#lanes.add(lane);
    lane.take(first);
  }

  /** For lanes: the answer to a hello. */
  answerTo(hello: ReturnType<typeof readHello>): LaneAnswer {
    if (hello.kind === 'failure') return this.#refuseStream(undefined, malformed(hello.reason));
    const { header, address } = hello.value;
    const fault = this.#isClosed ? NO_MORE : this.#faultInHello(hello.value);
    if (fault !== undefined) return this.#refuseStream(header.from.node, fault);
    this.#options.onStream(header.from, address);
    // The previous one is the rest of a connection that its node has abandoned (TP9).
    this.#same(hello.value)?.destroy();
    const { clusterId, self, run } = this.#options;
    return { kind: 'accepted', header: { clusterId, from: self, to: header.from }, run };
  }

  /** For lanes: a frame has arrived. */
  take(frame: Uint8Array, { header: { from: caller }, lane }: Hello): void | Promise<void> {
    if (this.#isClosed) return;
    const header = readFrameHeader(frame);
    if (header.kind === 'failure') return this.#options.onRefused(caller.node, malformed(header.reason));
    const fault = this.#faultIn(header.value) ?? faultOn(header.value, caller, lane);
    if (fault !== undefined) return this.#options.onRefused(caller.node, fault);
    return this.#options.onFrame(frame, lane, caller);
  }

  /** For lanes: the head of a record is invalid. */
  broken(words: string, { header }: Hello): void {
    this.#options.onRefused(header.from.node, malformed(words));
  }

  /** For lanes: the connection has ended. */
  ended(lane: LaneServer, hello: Hello | undefined): void {
    this.#lanes.delete(lane);
    const node = hello?.header.from.node;
    if (node === undefined || this.#streams.some(({ header }) => header.from.node === node)) return;
    this.#options.onSilent(node);
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
      return { kind: 'crowded', words: `${streamsMax} streams are open, the limit` };
    }
    if (nodes.includes(node) || this.#isNamed(node)) return undefined;
    const guests = new Set(nodes.filter((other) => !this.#isNamed(other))).size;
    if (guests < guestsMax) return undefined;
    return {
      kind: 'crowded',
      words: `${guestsMax} unknown nodes are connected, the limit`,
    };
  }

  #isNamed(node: NodeId): boolean {
    return this.#options.storeOf(node) !== undefined;
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
function faultOn({ from, content }: ReceivedHeader, caller: PeerIdentity, lane: Lane): FrameFault | undefined {
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

/** Unasked messages in each timeout for an answer. */
const WORDS_PER_TIMEOUT = 2;

/** The dialled side of one lane. */
class LaneServer {
  readonly #options: Pick<LaneDoorOptions, 'world' | 'limits'>;
  readonly #door: LaneDoor;
  readonly #wire: Wire;
  readonly #records = new RecordReader();
  #said: Uint8Array = NO_BYTES;
  #hello: Hello | undefined;
  #heardMs = 0;
  #sinceMs = 0;
  /** Bytes that were read after a frame that is being processed. */
  #rest: Uint8Array | undefined;
  #stopTelling: () => void = () => undefined;

  constructor(wire: Wire, door: LaneDoor, options: Pick<LaneDoorOptions, 'world' | 'limits'>) {
    this.#options = options;
    this.#door = door;
    this.#wire = wire;
    const stopWaiting = options.world.after(options.limits.silentMs, () => {
      if (this.#hello === undefined) wire.destroy();
    });
    // A broken stream ends; its sender opens another.
    wire.on('error', () => undefined);
    wire.on('close', () => {
      stopWaiting();
      this.#stopTelling();
      door.ended(this, this.#hello);
    });
    wire.on('data', (chunk) => this.take(chunk));
  }

  /** The accepted hello of the open connection. */
  get hello(): Hello | undefined {
    return this.#wire.destroyed ? undefined : this.#hello;
  }

  /** The process of the open connection. */
  get heard(): HeardRun | undefined {
    const { hello } = this;
    if (hello === undefined) return undefined;
    const { header, run, address } = hello;
    const [place, sinceMs] = [header.from, this.#sinceMs];
    return { place, run, address, sinceMs, heardMs: () => this.#heardMs, destroy: () => this.destroy() };
  }

  destroy(): void {
    this.#wire.destroy();
  }

  take(chunk: Uint8Array): void {
    this.#heardMs = this.#options.world.nowMs();
    if (this.#rest !== undefined) this.#rest = concatBytes([this.#rest, chunk]);
    else if (this.#hello === undefined) this.#greet(chunk);
    else this.#read(chunk, this.#hello);
  }

  #greet(chunk: Uint8Array): void {
    this.#said = concatBytes([this.#said, chunk]);
    const length = helloLength(this.#said);
    if (length === undefined || this.#said.length < length) return;
    const said = this.#said;
    const hello = readHello(said.subarray(0, length));
    const answer = this.#door.answerTo(hello);
    if (answer.kind !== 'accepted' || hello.kind === 'failure') {
      this.#wire.removeAllListeners('data');
      this.#wire.write(writeAnswer(answer));
      this.#wire.end();
      this.#wire.resume();
      return;
    }
    this.#wire.write(writeAnswer(answer));
    this.#hello = hello.value;
    this.#sinceMs = this.#heardMs;
    this.#said = NO_BYTES;
    const { world, limits } = this.#options;
    this.#stopTelling = world.every(limits.pingTimeoutMs / WORDS_PER_TIMEOUT, () => this.#say(HERE));
    if (said.length > length) this.#read(said.subarray(length), hello.value);
  }

  #read(chunk: Uint8Array, hello: Hello): void {
    let isAsked = false;
    for (let left = chunk; left.length > 0; ) {
      const { taken, record } = this.#records.read(left);
      left = left.subarray(taken);
      if (record === undefined) {
        if (this.#isFaulty(hello)) return;
        break;
      }
      if (record.length === 0) {
        isAsked = true;
        continue;
      }
      const taking = this.#door.take(record, hello);
      if (taking === undefined) continue;
      this.#hold(taking, left, hello);
      break;
    }
    // Answers once, however often it was asked.
    if (isAsked) this.#say(ECHO);
  }

  /** Ends the connection if the current record cannot be read. */
  #isFaulty(hello: Hello): boolean {
    const { fault } = this.#records;
    if (fault === undefined) return false;
    this.#door.broken(fault, hello);
    this.#wire.destroy();
    return true;
  }

  /** A pending message replaces this one: nothing accumulates for a caller that asks and does not read. */
  #say(word: Uint8Array): void {
    if (this.#wire.writableLength === 0) this.#wire.write(word);
  }

  #hold(taking: Promise<void>, rest: Uint8Array, hello: Hello): void {
    this.#rest = rest;
    this.#wire.pause();
    const goOn = (): void => {
      const left = this.#rest ?? NO_BYTES;
      this.#rest = undefined;
      if (this.#wire.destroyed) return;
      this.#read(left, hello);
      if (this.#rest === undefined) this.#wire.resume();
    };
    taking.then(goOn, goOn);
  }
}

/** Assembles the records of a stream, each in memory of its own. */
class RecordReader {
  readonly #head = new Uint8Array(RECORD_HEAD_BYTES);
  #headLength = 0;
  #record: Uint8Array | undefined;
  #filled = 0;

  /** Fault of the current record's head, if any: nothing after it can be read. */
  get fault(): string | undefined {
    if (this.#headLength < RECORD_HEAD_BYTES || this.#record !== undefined) return undefined;
    const length = recordLength(this.#head);
    if (length === undefined) return 'the head of a record is damaged';
    return `a frame of ${length} bytes; the longest has ${FRAME_BYTES_MAX}`;
  }

  /** Reads up to the end of a record, or all bytes. `taken`: their number. The record of a question is empty. */
  read(chunk: Uint8Array): { readonly taken: number; readonly record: Uint8Array | undefined } {
    let taken = 0;
    if (this.#record === undefined) {
      taken = Math.min(RECORD_HEAD_BYTES - this.#headLength, chunk.length);
      this.#head.set(chunk.subarray(0, taken), this.#headLength);
      this.#headLength += taken;
      if (this.#headLength < RECORD_HEAD_BYTES) return { taken, record: undefined };
      const length = recordLength(this.#head);
      if (length === undefined || length > FRAME_BYTES_MAX) return { taken: chunk.length, record: undefined };
      this.#record = length === 0 ? NO_BYTES : Buffer.allocUnsafeSlow(length);
      this.#filled = 0;
    }
    const part = chunk.subarray(taken, taken + this.#record.length - this.#filled);
    this.#record.set(part, this.#filled);
    this.#filled += part.length;
    taken += part.length;
    if (this.#filled < this.#record.length) return { taken, record: undefined };
    const record = this.#record;
    this.#record = undefined;
    this.#headLength = 0;
    return { taken, record };
  }
}
