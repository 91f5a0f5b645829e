// The links of one simulated process, behind the port of the real ones (src/cluster/peer/links.ts): connections that
// are opened, break and are opened again, with bounded lanes, and join requests.
import { type NodeId } from '#base';
import type { JoinReply, JoinRequest, Lane, OpenPeerLinks, Peer, PeerLinksOptions } from '#cluster';
import type { Isolate } from '../engine/isolate.ts';
import type { Letter, PeerExchange, Station } from './exchange.ts';

export const PEER_PORT = 50_052;

export interface SimLinksParts {
  readonly exchange: PeerExchange;
  readonly thread: Isolate;
  readonly options: PeerLinksOptions;
  /** Called when the node has accepted a corrupted frame. */
  readonly onDeceived: (from: string) => void;
}

/** Frames in transit in one lane, oldest first, and the arrival time of the last one. */
interface LaneState {
  lastUs: number;
  inFlight: number;
  readonly frames: { readonly untilUs: number; readonly bytes: number }[];
}

interface Link {
  readonly peer: Peer;
  readonly lanes: Map<Lane, LaneState>;
  /** The process at the other end of the connection, which a later process at that host does not replace. */
  end: Station | undefined;
  isReached: boolean;
  isSuspected: boolean;
  attempts: number;
}

const BACKOFF_FIRST_US = 100_000;
const BACKOFF_LAST_US = 3_000_000;
/** Time without an answer after which a connection is lost. */
const PING_US = 3_000_000;
const LANE_BYTES_MAX = 256 * 1024;
/** Offset of the kind in a frame (docs/formats/peer-frames.md), and the kind of forwarded requests. */
const KIND_AT = 9;
const FORWARDS = 2;

export class SimLinks implements OpenPeerLinks, Station {
  readonly port: number = PEER_PORT;
  readonly #parts: SimLinksParts;
  readonly #links = new Map<NodeId, Link>();
  #named: ReadonlySet<NodeId> = new Set();
  #refused = 0;
  /** Undefined while the node starts: it listens but accepts no frames yet. */
  #onFrame: ((frame: Uint8Array, lane: Lane) => void | Promise<void>) | undefined;
  #onUnreachable: (node: NodeId) => void = () => undefined;
  #onReachable: (node: NodeId) => void = () => undefined;
  #onJoin: ((request: JoinRequest) => Promise<JoinReply>) | undefined;

  constructor(parts: SimLinksParts) {
    this.#parts = parts;
    parts.exchange.enter(this);
  }

  get host(): string {
    return this.#parts.options.host;
  }

  get thread(): Isolate {
    return this.#parts.thread;
  }

  /** Number of frames that the node has refused, as its observer counts them. */
  refused(): void {
    this.#refused += 1;
  }

  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean {
    const link = this.#links.get(to);
    if (link?.isReached !== true) return false;
    const { exchange, thread } = this.#parts;
    const state = link.lanes.get(lane) ?? { lastUs: 0, inFlight: 0, frames: [] };
    link.lanes.set(lane, state);
    forgetArrived(state, thread.nowUs);
    if (state.inFlight + frame.length > LANE_BYTES_MAX && state.inFlight > 0) return false;
    const { host } = link.peer;
    if (exchange.at(host) !== link.end) {
      this.#suspect(link);
      return true;
    }
    const letter = { frame, lane, mayStray: frame[KIND_AT] !== FORWARDS };
    state.lastUs = exchange.carry(this, host, letter, Math.max(state.lastUs, thread.nowUs));
    state.inFlight += frame.length;
    state.frames.push({ untilUs: state.lastUs, bytes: frame.length });
    if (!exchange.isOpen(this.host, host) || !exchange.isOpen(host, this.host)) this.#suspect(link);
    return true;
  }

  isOpen(to: NodeId): boolean {
    return this.#links.get(to)?.isReached === true;
  }

  setPeers(peers: readonly Peer[]): void {
    this.#named = new Set(peers.map(({ node }) => node));
    for (const [node, { peer }] of this.#links) {
      const now = peers.find((each) => each.node === node);
      if (now !== undefined && (now.host !== peer.host || now.store !== peer.store)) this.#links.delete(node);
    }
    for (const peer of peers) this.#know(peer);
  }

  onFrame(listener: (frame: Uint8Array, lane: Lane) => void | Promise<void>): void {
    this.#onFrame = listener;
  }

  onUnreachable(listener: (node: NodeId) => void): void {
    this.#onUnreachable = listener;
  }

  onReachable(listener: (node: NodeId) => void): void {
    this.#onReachable = listener;
  }

  onJoin(listener: (request: JoinRequest) => Promise<JoinReply>): void {
    this.#onJoin = listener;
  }

  async close(): Promise<void> {
    this.end(false);
  }

  /** Ends all links; with `isSilent` other processes are not notified. */
  end(isSilent: boolean): void {
    this.#parts.exchange.leave(this, isSilent);
    this.#links.clear();
    this.#onJoin = undefined;
  }

  take(from: string, { frame, lane }: Letter, isFlipped: boolean): void {
    if (this.#onFrame === undefined) return;
    const before = this.#refused;
    void this.#onFrame(frame, lane);
    if (isFlipped && this.#refused === before) this.#parts.onDeceived(from);
  }

  lost(host: string): void {
    for (const link of this.#links.values()) if (link.peer.host === host) this.#break(link);
  }

  /** Idle connections also get pings. */
  outlives(station: Station): void {
    for (const link of this.#links.values()) {
      if (link.end !== station) continue;
      this.#parts.thread.after(PING_US, 'ping', () => {
        if (link.end === station) this.#break(link);
      });
    }
  }

  /** Answers a join request; undefined when the node does not answer. */
  answer(request: JoinRequest): Promise<JoinReply> | undefined {
    return this.#onJoin?.(request);
  }

  /** A new node has connected: connects back, so that it can be answered. */
  greet(peer: Peer): void {
    if (!this.#named.has(peer.node)) this.#know(peer);
  }

  #know(peer: Peer): void {
    if (peer.node === this.#parts.options.self.node || this.#links.has(peer.node)) return;
    const link: Link = { peer, lanes: new Map(), end: undefined, isReached: false, isSuspected: false, attempts: 0 };
    this.#links.set(peer.node, link);
    this.#dial(link, 0);
  }

  #dial(link: Link, delayUs: number): void {
    const { exchange, thread } = this.#parts;
    thread.after(delayUs + 2 * exchange.latencyUs(), 'dial', () => {
      if (this.#links.get(link.peer.node) !== link || link.isReached) return;
      link.isReached = this.#isThere(link.peer);
      if (link.isReached) {
        link.attempts = 0;
        link.lanes.clear();
        link.end = exchange.at(link.peer.host);
        thread.turn('reachable', () => this.#onReachable(link.peer.node));
        return;
      }
      link.attempts += 1;
      const backoffUs = Math.min(BACKOFF_LAST_US, BACKOFF_FIRST_US * 2 ** link.attempts);
      this.#dial(link, backoffUs * (0.8 + 0.4 * exchange.random.share()));
    });
  }

  /** True when the expected process listens there, and both directions are open. */
  #isThere({ host, node, store }: Peer): boolean {
    const { exchange, options } = this.#parts;
    const station = exchange.at(host);
    if (!(station instanceof SimLinks) || !exchange.isOpen(this.host, host) || !exchange.isOpen(host, this.host))
      return false;
    const { clusterId, self } = station.#parts.options;
    if (clusterId !== options.clusterId || self.node !== node || self.store !== store) return false;
    station.greet({ ...options.self, host: this.host, port: PEER_PORT });
    return true;
  }

  #suspect(link: Link): void {
    if (link.isSuspected) return;
    link.isSuspected = true;
    const { exchange, thread } = this.#parts;
    const { host } = link.peer;
    const isClosed = (): boolean => !exchange.isOpen(this.host, host) || !exchange.isOpen(host, this.host);
    // A restarted machine immediately reports that it does not know the connection.
    const isRefused = exchange.at(host) !== undefined && !isClosed();
    thread.after(isRefused ? 2 * exchange.latencyUs() : PING_US, 'ping', () => {
      link.isSuspected = false;
      if (isClosed() || exchange.at(host) !== link.end) this.#break(link);
    });
  }

  #break(link: Link): void {
    if (!link.isReached || this.#links.get(link.peer.node) !== link) return;
    link.isReached = false;
    this.#parts.thread.turn('unreachable', () => this.#onUnreachable(link.peer.node));
    this.#dial(link, BACKOFF_FIRST_US);
  }
}

function forgetArrived(state: LaneState, nowUs: number): void {
  const { frames } = state;
  while (frames[0] !== undefined && frames[0].untilUs < nowUs) state.inFlight -= frames.shift()?.bytes ?? 0;
}

/** Sends a join request to an address over the same network; without a timely answer the result is `later`. */
export async function askOver(
  exchange: PeerExchange,
  thread: Isolate,
  from: string,
  question: { readonly host: string; readonly request: JoinRequest; readonly timeoutMs: number },
): Promise<JoinReply> {
  const { host, request, timeoutMs } = question;
  return new Promise((resolve) => {
    const later = (reason: string): void => resolve({ kind: 'later', reason });
    thread.after(timeoutMs * 1000, 'ask timeout', () => later('there was no answer'));
    const station = exchange.at(host);
    if (station === undefined || !exchange.isOpen(from, host)) {
      thread.after(exchange.latencyUs(), 'ask refused', () => later('nobody listens there'));
      return;
    }
    station.thread.after(exchange.latencyUs(), 'asked', () => {
      const say = (reply: JoinReply): void => {
        if (exchange.isOpen(host, from)) thread.after(exchange.latencyUs(), 'answered', () => resolve(reply));
      };
      station
        .answer(structuredClone(request))
        ?.then(say)
        .catch(() => undefined);
    });
  });
}
