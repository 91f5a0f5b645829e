// A network between cores, in which frames are encoded, delayed, lost, duplicated or blocked, and decoded by the
// receiver. It has no clock and no randomness of its own: its creator schedules the work and draws the numbers, so
// tests in one thread and the simulation with a virtual clock can both use it.
import type { Crc32, NodeId } from '#base';
import type { Envelope, ForwardItem, OutgoingFrame, Peers, SnapshotLetter } from '#cluster';
import { laneOf } from '../../../src/cluster/peer/links.ts';
import { PeerCodec, type ReceivedTables } from '../../../src/cluster/peer/peer-codec.ts';
import { type PeerIdentity, toStoreId } from '../../../src/cluster/peer/peer-identity.ts';
import type { SentTables } from '../../../src/cluster/peer/sent-table.ts';
import type { Draw } from '../log-model.ts';

export interface NetworkPorts {
  /** Runs the work after a delay in milliseconds. */
  readonly after: (delayMs: number, work: () => void) => void;
  readonly draw: Draw;
  readonly crc32: Crc32;
}

/** Receiver of messages: a core. */
export interface Receiver {
  receive(from: NodeId, messages: readonly Envelope[], tables: ReceivedTables): void;
  forwarded(from: NodeId, items: readonly ForwardItem[]): void;
  receiveLetter(from: NodeId, letter: SnapshotLetter): void;
  unreachable(node: NodeId): void;
  reachable(node: NodeId): void;
}

interface Station {
  readonly place: PeerIdentity;
  readonly codec: PeerCodec;
  readonly receiver: Receiver;
}

const CLUSTER = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
const PERCENT = 100;
const CONNECTS_MS = 5;

export class MemoryNetwork {
  lossPercent = 0;
  doublePercent = 0;
  delayMsMax = 2;
  /** Selects messages that are always lost. */
  isHeld: (from: NodeId, to: NodeId, envelope: Envelope) => boolean = () => false;
  /** Selects nodes whose lane for appends and forwards is not connected, while other lanes are. */
  isClosed: (from: NodeId, to: NodeId) => boolean = () => false;
  /** Returns true to take the forwarded items that arrive at a node. */
  intercepts: (to: NodeId, items: readonly ForwardItem[]) => boolean = () => false;
  /** Selects snapshot letters that are lost. */
  loses: (letter: SnapshotLetter) => boolean = () => false;
  /** Numbers of sends and of messages, and of messages that were delta-encoded. */
  readonly counts = { sends: 0, messages: 0, repeated: 0, frameBytes: 0, letters: 0, letterBytes: 0 };
  readonly #ports: NetworkPorts;
  readonly #stations = new Map<NodeId, Station>();
  readonly #cut = new Set<string>();

  constructor(ports: NetworkPorts) {
    this.#ports = ports;
  }

  /** Connects a process of the node, replacing the one before. */
  connect(node: NodeId, receiver: Receiver): void {
    const store = toStoreId(`0199a5c8-3c1e-7a2b-9f01-${node.toString(16).padStart(12, '0')}`);
    const place = { node, store };
    const { draw, crc32 } = this.#ports;
    const random = { bytes: (count: number) => Uint8Array.from({ length: count }, () => draw(256)) };
    const codec = new PeerCodec({ clusterId: CLUSTER, self: place, crc32, random });
    const others = [...this.#stations].filter(([other]) => other !== node);
    this.#stations.set(node, { place, codec, receiver });
    for (const [other, station] of others) {
      this.#tell(node, { reaches: other, before: receiver });
      this.#tell(other, { reaches: node, before: station.receiver });
    }
  }

  /** Reports a reachable node to a process, unless it has ended meanwhile. */
  #tell(node: NodeId, { reaches, before }: { readonly reaches: NodeId; readonly before: Receiver }): void {
    this.#ports.after(CONNECTS_MS, () => {
      if (this.#stations.get(node)?.receiver === before && this.#stations.has(reaches)) before.reachable(reaches);
    });
  }

  /** Disconnects the ended process of the node; connected nodes notice it. */
  disconnect(node: NodeId): void {
    this.#stations.delete(node);
    for (const { receiver, codec } of this.#stations.values()) {
      codec.forget(node);
      receiver.unreachable(node);
    }
  }

  /** The sending port of a node, which works while `isAlive` says that its process runs. */
  portOf(node: NodeId, isAlive: () => boolean): Peers {
    return {
      send: (to, messages, tables = {}) => {
        if (isAlive()) this.#send(node, to, messages, tables);
      },
      forward: (to, items) => {
        if (!this.#stations.has(to) || this.isClosed(node, to)) return false;
        if (isAlive()) this.#forward(node, to, items);
        return true;
      },
      // All nodes are known here.
      setPeers: () => undefined,
      sendLetter: (to, letter) => isAlive() && this.#sendLetter(node, to, letter),
    };
  }

  /** Blocks both directions between two nodes. */
  cut(one: NodeId, other: NodeId): void {
    this.cutWay(one, other);
    this.cutWay(other, one);
  }

  /** Blocks one direction. */
  cutWay(from: NodeId, to: NodeId): void {
    this.#cut.add(`${from} ${to}`);
  }

  heal(): void {
    this.#cut.clear();
  }

  #send(from: NodeId, to: NodeId, messages: readonly Envelope[], tables: SentTables): void {
    const said = rowsOf(tables);
    this.counts.sends += 1;
    this.counts.messages += messages.length + said.length;
    this.counts.repeated += said.length;
    const isClosed = this.isClosed(from, to);
    const isSent = (envelope: Envelope): boolean =>
      !this.isHeld(from, to, envelope) && !(isClosed && laneOf(envelope) === 'appends');
    // When a message of a delta table is held, the others are sent individually.
    const isWhole = said.every(isSent);
    const sent = isWhole ? messages.filter(isSent) : [...messages, ...said].filter(isSent);
    if (sent.length + said.length === 0) return;
    this.#each(
      from,
      to,
      (codec, place) => codec.encode(place, sent, isWhole ? tables : {}),
      (frame) => this.#carry(from, to, frame),
    );
  }

  /** Frames may be lost, duplicated and reordered. */
  #carry(from: NodeId, to: NodeId, frame: Uint8Array): void {
    this.counts.frameBytes += frame.length;
    const times = this.#happens(this.lossPercent) ? 0 : this.#happens(this.doublePercent) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      this.#ports.after(1 + this.#ports.draw(this.delayMsMax), () => this.#arrive(from, to, frame));
    }
  }

  /** Frames of a lane arrive in order and at most once, because forwarded requests depend on it. */
  #forward(from: NodeId, to: NodeId, items: readonly ForwardItem[]): void {
    this.#each(
      from,
      to,
      (codec, place) => codec.encodeForwards(place, items),
      (frame) => {
        if (!this.#happens(this.lossPercent)) this.#ports.after(1, () => this.#arrive(from, to, frame));
      },
    );
  }

  #each(
    from: NodeId,
    to: NodeId,
    encode: (codec: PeerCodec, place: PeerIdentity) => readonly OutgoingFrame[],
    send: (frame: Uint8Array) => void,
  ): void {
    const sender = this.#stations.get(from);
    const receiver = this.#stations.get(to);
    if (sender === undefined || receiver === undefined) return;
    for (const { frame } of encode(sender.codec, receiver.place)) send(frame);
  }

  /** The `bulk` lane may be full; then the sender tries again. */
  #sendLetter(from: NodeId, to: NodeId, letter: SnapshotLetter): boolean {
    const sender = this.#stations.get(from);
    const receiver = this.#stations.get(to);
    if (sender === undefined || receiver === undefined || this.#happens(this.lossPercent)) return false;
    const frame = sender.codec.encodeLetter(receiver.place, letter);
    this.counts.letters += 1;
    this.counts.letterBytes += frame.length;
    if (!this.loses(letter)) this.#carry(from, to, frame);
    return true;
  }

  #arrive(from: NodeId, to: NodeId, frame: Uint8Array): void {
    const station = this.#stations.get(to);
    if (station === undefined || this.#cut.has(`${from} ${to}`)) return;
    const decoded = station.codec.decode(frame.slice());
    // The frame may have been for an earlier process. The next one has the same store, but may know other delta tables.
    if (decoded.kind === 'failure') throw new Error(`A frame does not decode: ${decoded.reason.words}`);
    const { tables, messages, forwards, letter } = decoded.value;
    const hasTables = tables.beats !== undefined || tables.answers !== undefined;
    if (hasTables || messages.length > 0) station.receiver.receive(from, messages, tables);
    if (forwards.length > 0 && !this.intercepts(to, forwards)) station.receiver.forwarded(from, forwards);
    if (letter !== undefined) station.receiver.receiveLetter(from, letter);
  }

  #happens(percent: number): boolean {
    return this.#ports.draw(PERCENT) < percent;
  }
}

function rowsOf({ beats, answers }: SentTables): readonly Envelope[] {
  return [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? [])];
}
