/**
 * Carries messages between the groups of this node and those of others: it encodes the messages of a turn as frames,
 * and decodes frames.
 *
 * ```
 *   core ── send ──> PeerMail ── PeerCodec ── frames ──> PeerLinks ──> other nodes
 *   core <── receive, unreachable, reachable ── PeerMail <── frames ── PeerLinks
 * ```
 * Messages that cannot be sent are lost, as on any network; Raft detects it with the next heartbeat.
 */

import { type NodeId } from '#base';
import type { ForwardItem } from './forward.ts';
import type { Envelope, Lane, Peer, PeerLinks } from './links.ts';
import type { FrameFault, PeerObserver } from './observer.ts';
import type { OutgoingFrame, PeerCodec, ReceivedTables } from './peer-codec.ts';
import type { PeerIdentity } from './peer-identity.ts';
import type { Peers } from './peers.ts';
import type { SentTables } from './sent-table.ts';
import type { SnapshotLetter } from './snapshot-letter.ts';

/** Why a message was ignored: its sender was removed, or is unknown and the message is not about the catalog. */
export type Unheard = 'removed' | 'stranger';

/** The core, which receives the messages. Each method returns why it ignored a part, if it did. */
export interface PeerReceiver {
  receive(from: NodeId, messages: readonly Envelope[], tables: ReceivedTables): Unheard | undefined;
  forwarded(from: NodeId, items: readonly ForwardItem[]): Unheard | undefined;
  receiveLetter(from: NodeId, letter: SnapshotLetter): Unheard | undefined;
  /** Undefined while there is room for entries of other nodes; otherwise resolves when there is. */
  room(): Promise<void> | undefined;
  /** No lane reaches the node any more; the last messages to it may be lost. */
  unreachable(node: NodeId): void;
  /** A lane reaches the node again. */
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
  readonly #places = new Map<NodeId, PeerIdentity>();
  /** The last unknown nodes that have sent messages: they are answered. */
  readonly #strangers = new Map<NodeId, PeerIdentity>();

  constructor(parts: PeerMailParts) {
    this.#parts = parts;
  }

  /** Earlier frames are dropped. */
  open(receiver: PeerReceiver): void {
    const { links, codec } = this.#parts;
    links.onFrame((frame, lane) => this.#take(frame, lane, receiver));
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

  /** Sends the messages of one turn to another node, in order. Accepted messages may still be lost. */
  send(to: NodeId, messages: readonly Envelope[], tables?: SentTables): void {
    this.#send(to, (place) => this.#parts.codec.encode(place, messages, tables));
  }

  forward(to: NodeId, items: readonly ForwardItem[]): boolean {
    if (!this.#parts.links.isOpen(to, 'appends')) return false;
    this.#send(to, (place) => this.#parts.codec.encodeForwards(place, items));
    return true;
  }

  close(): Promise<void> {
    return this.#parts.links.close();
  }

  #send(to: NodeId, encode: (place: PeerIdentity) => readonly OutgoingFrame[]): void {
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

  #meet(stranger: PeerIdentity): void {
    const [first] = this.#strangers.keys();
    if (this.#strangers.size >= STRANGERS_MAX && first !== undefined) this.#strangers.delete(first);
    this.#strangers.set(stranger.node, stranger);
  }

  /**
   * The returned promise delays reading the next frame of the stream. Only appends wait: heartbeats decide elections,
   * and snapshot transfers have a window of their own.
   */
  #take(frame: Uint8Array, lane: Lane, receiver: PeerReceiver): Promise<void> | undefined {
    this.#hear(frame, lane, receiver);
    const room = lane === 'appends' ? receiver.room() : undefined;
    if (room !== undefined) this.#parts.observer.stoppedReading();
    return room;
  }

  #hear(frame: Uint8Array, lane: Lane, receiver: PeerReceiver): void {
    const decoded = this.#parts.codec.decode(frame, lane);
    if (decoded.kind === 'failure') return this.#drop(undefined, decoded.reason);
    const { from, tables, messages, forwards, letter } = decoded.value;
    const { node } = from;
    if (!this.#places.has(node)) this.#meet(from);
    const hasTables = tables.beats !== undefined || tables.answers !== undefined;
    let unheard: Unheard | undefined;
    if (hasTables || messages.length > 0) unheard = receiver.receive(node, messages, tables);
    if (forwards.length > 0) unheard = receiver.forwarded(node, forwards);
    if (letter !== undefined) unheard = receiver.receiveLetter(node, letter);
    if (unheard !== undefined) this.#drop(node, { kind: unheard, words: UNHEARD[unheard] });
  }

  #drop(node: NodeId | undefined, fault: FrameFault): void {
    const { observer } = this.#parts;
    observer.receiveFailed(node, fault);
    observer.note({ event: 'peer-refused', node, reason: fault.words });
  }
}

const UNHEARD: Readonly<Record<Unheard, string>> = {
  removed: 'the node was removed from the cluster',
  stranger: 'the local catalog does not name the node; until it does, only its messages about the catalog are accepted',
};
