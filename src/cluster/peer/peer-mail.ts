/**
 * The way from the groups of this node to those of others and back: messages of a turn become frames, frames messages.
 *
 * ```
 *   core ── send ──> PeerMail ── PeerCodec ── frames ──> PeerLinks ──> other nodes
 *   core <── receive, unreachable, reachable ── PeerMail <── frames ── PeerLinks
 * ```
 * What cannot be sent is lost, as on any network; Raft finds out by the next beat.
 */
import type { Peers } from '../peers.ts';
import type { Envelope } from './envelope.ts';
import type { ForwardItem } from './forward.ts';
import type { Peer, PeerLinks } from './links.ts';
import type { PeerObserver } from './observer.ts';
import type { HeardTables, OutgoingFrame, PeerCodec } from './peer-codec.ts';
import type { NodeId, NodePlace } from './place.ts';
import type { Refrains } from './refrain.ts';
import type { SnapshotLetter } from './snapshot-letter.ts';

/** Who the messages are for: the core. */
export interface PeerReceiver {
  receive(from: NodeId, messages: readonly Envelope[], tables: HeardTables): void;
  forwarded(from: NodeId, items: readonly ForwardItem[]): void;
  receiveLetter(from: NodeId, letter: SnapshotLetter): void;
  /** No way leads to the node any more; what it was sent last may be lost. */
  unreachable(node: NodeId): void;
  /** A way leads to the node, where none did. */
  reachable(node: NodeId): void;
}

export interface PeerMailParts {
  readonly codec: PeerCodec;
  readonly links: PeerLinks;
  readonly observer: PeerObserver;
}

const STRANGERS_MAX = 64;

export class PeerMail implements Peers {
  readonly #parts: PeerMailParts;
  /** Whoever is known. */
  readonly #places = new Map<NodeId, NodePlace>();
  /** Whoever has written and is not known, the last of them: they are answered. */
  readonly #strangers = new Map<NodeId, NodePlace>();

  constructor(parts: PeerMailParts) {
    this.#parts = parts;
  }

  /** Nothing is heard before. */
  open(receiver: PeerReceiver): void {
    const { links, codec } = this.#parts;
    links.onFrame((frame) => this.#take(frame, receiver));
    links.onUnreachable((node) => {
      codec.forget(node);
      receiver.unreachable(node);
    });
    links.onReachable((node) => receiver.reachable(node));
  }

  setPeers(peers: readonly Peer[]): void {
    this.#places.clear();
    for (const { node, store } of peers) {
      this.#places.set(node, { node, store });
      this.#strangers.delete(node);
    }
    this.#parts.links.setPeers(peers);
  }

  /** Takes what this node has to say to another in one turn, in order. What was taken may be lost. */
  send(to: NodeId, messages: readonly Envelope[], refrains?: Refrains): void {
    this.#send(to, (place) => this.#parts.codec.encode(place, messages, refrains));
  }

  forward(to: NodeId, items: readonly ForwardItem[]): void {
    this.#send(to, (place) => this.#parts.codec.encodeForwards(place, items));
  }

  close(): Promise<void> {
    return this.#parts.links.close();
  }

  #send(to: NodeId, encode: (place: NodePlace) => readonly OutgoingFrame[]): void {
    const { links, observer } = this.#parts;
    const place = this.#places.get(to) ?? this.#strangers.get(to);
    if (place === undefined) {
      observer.sendFailed(to, false);
      return;
    }
    for (const { lane, frame } of encode(place)) links.send(to, lane, frame);
  }

  sendLetter(to: NodeId, letter: SnapshotLetter): boolean {
    const { codec, links } = this.#parts;
    const place = this.#places.get(to) ?? this.#strangers.get(to);
    return place !== undefined && links.send(to, 'bulk', codec.encodeLetter(place, letter));
  }

  #meet(stranger: NodePlace): void {
    const [first] = this.#strangers.keys();
    if (this.#strangers.size >= STRANGERS_MAX && first !== undefined) this.#strangers.delete(first);
    this.#strangers.set(stranger.node, stranger);
  }

  #take(frame: Uint8Array, receiver: PeerReceiver): void {
    const decoded = this.#parts.codec.decode(frame);
    if (decoded.kind === 'ok') {
      const { from, tables, messages, forwards, letter } = decoded.value;
      if (!this.#places.has(from.node)) this.#meet(from);
      const hasTables = tables.beats !== undefined || tables.answers !== undefined;
      if (hasTables || messages.length > 0) receiver.receive(from.node, messages, tables);
      if (forwards.length > 0) receiver.forwarded(from.node, forwards);
      if (letter !== undefined) receiver.receiveLetter(from.node, letter);
    } else {
      const { observer } = this.#parts;
      observer.receiveFailed(undefined);
      observer.note({ event: 'peer-refused', node: undefined, reason: decoded.reason });
    }
  }
}
