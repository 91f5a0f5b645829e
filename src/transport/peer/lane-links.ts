/**
 * The links of one node to all others: serves accepted lanes, and dials each other node, with one connection a lane.
 */
import { type Address, formatAddress, messageOf, type NodeId, quote } from '#base';
import {
  type FrameFault,
  LANES,
  type Lane,
  type Peer,
  type PeerIdentity,
  type PeerLinks,
  type PeerLinksOptions,
  type PeerNote,
} from '#cluster';
import { LaneDoor } from './lane-door.ts';
import { LaneLink } from './lane-link.ts';
import { PEER_LIMITS, type PeerLimits } from './limits.ts';
import { type PeerTls, securedWorld } from './peer-tls.ts';
import { duplicateOf, type Run, silenceMs } from './runs.ts';
import { type LaneWorld, NET, type Wire } from './wire.ts';

export interface LinksOptions extends PeerLinksOptions {
  readonly limits?: Partial<PeerLimits>;
  /** Random number from 0 up to 1, for the pauses between attempts. */
  readonly draw?: () => number;
  /** Absent: the network of this machine. */
  readonly world?: LaneWorld;
  /** Absent: connections are not secured. */
  readonly tls?: PeerTls | undefined;
}

interface Link {
  readonly peer: Peer;
  readonly lanes: Readonly<Record<Lane, LaneLink>>;
  isReached: boolean;
}

/** Maximum number of remembered notes about nodes, which are not repeated; a connection could name any node. */
const NOTES_MAX = 1_000;
/** A dead connection explains a refusal for one silence timeout; this process ends after so many timeouts. */
const DUPLICATE_SILENCES = 3;
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export class LaneLinks implements PeerLinks {
  readonly #options: LinksOptions;
  readonly #limits: PeerLimits;
  readonly #world: LaneWorld;
  readonly #door: LaneDoor;
  readonly #links = new Map<NodeId, Link>();
  readonly #closing = new Set<Promise<unknown>>();
  /** Nodes of the last `setPeers`. */
  #named: ReadonlyMap<NodeId, Peer> = new Map();
  readonly #noted = new Map<string, number>();
  /** Nodes that have accepted another process of this node: first and last report (TP12). */
  readonly #duplicates = new Map<NodeId, { readonly sinceMs: number; readonly untilMs: number }>();
  #isClosed = false;
  #onFrame: (frame: Uint8Array, lane: Lane) => void | Promise<void> = () => undefined;
  #onUnreachable: (node: NodeId) => void = () => undefined;
  #onReachable: (node: NodeId) => void = () => undefined;

  constructor(options: LinksOptions) {
    const { clusterId, self, run, observer } = options;
    this.#options = options;
    this.#limits = { ...PEER_LIMITS, ...options.limits };
    const { world = NET, tls } = options;
    this.#world = tls === undefined ? world : securedWorld(world, tls);
    this.#door = new LaneDoor({
      clusterId,
      self,
      run,
      limits: this.#limits,
      world: this.#world,
      storeOf: (node) => this.#named.get(node)?.store,
      duplicate: (store, process) => this.duplicate(store, process),
      onStream: (caller, address) => this.#hear(caller, address),
      onSilent: (node) => this.#forget(node),
      onFrame: (frame, lane, from) => {
        observer.received(from.node, frame.length);
        return this.#onFrame(frame, lane);
      },
      onRefused: (node, fault) => this.refused(node, fault),
    });
  }

  /** Serves an accepted connection of a lane, whose first bytes were read. */
  serve(connection: Wire, first: Uint8Array): void {
    this.#door.serve(connection, first);
  }

  /** Notes a client that was refused, or a frame that was dropped. */
  refused(node: NodeId | undefined, fault: FrameFault): void {
    this.#options.observer.receiveFailed(node, fault);
    this.#note({ event: 'peer-refused', node, reason: fault.words });
  }

  /** Fault of a process of another node while this node accepts another one of that node (TP12). */
  duplicate(store: string, process: Run): FrameFault | undefined {
    const dialled = [...this.#links.values()].filter(({ peer }) => peer.store === store);
    const lanes = dialled.flatMap(({ lanes: own }) => LANES.map((lane) => own[lane].heard));
    const heard = [...this.#door.heardOf(store), ...lanes.filter((each) => each !== undefined)];
    const known = [...this.#named.values()].find((peer) => peer.store === store);
    return duplicateOf(process, heard, { world: this.#world, limits: this.#limits, known });
  }

  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean {
    const isTaken = !this.#isDuplicate && (this.#links.get(to)?.lanes[lane].send(frame) ?? false);
    if (!isTaken) this.#options.observer.sendFailed(to, lane === 'beats');
    return isTaken;
  }

  isOpen(to: NodeId, lane: Lane): boolean {
    return !this.#isDuplicate && (this.#links.get(to)?.lanes[lane].isOpen ?? false);
  }

  setPeers(peers: readonly Peer[]): void {
    const others = new Map(
      peers.filter(({ node }) => node !== this.#options.self.node).map((peer) => [peer.node, peer]),
    );
    for (const [node, link] of this.#links) {
      const [peer, known] = [others.get(node), this.#named.get(node)];
      // An unchanged row says nothing new about a guest, or about a node that has announced another address.
      if (!isSame(peer, known) && !isSame(peer, link.peer)) this.#drop(link);
    }
    this.#named = others;
    for (const [node, peer] of others) if (!this.#links.has(node)) this.#dial(peer);
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

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onFrame = () => undefined;
    this.#onUnreachable = () => undefined;
    this.#onReachable = () => undefined;
    for (const link of this.#links.values()) this.#drop(link);
    await Promise.all(this.#closing);
    this.#door.close();
  }

  /**
   * Creates a link. A node with an invalid address (a row of the catalog may have any text) is noted and not reached;
   * the others are (TP6). While the links are being closed no node is dialled: nothing would close that link.
   */
  #dial(peer: Peer): void {
    if (this.#isClosed) return;
    const { node, host, port } = peer;
    try {
      this.#links.set(node, this.#open(peer));
    } catch (failure) {
      this.#options.observer.active(node, false);
      const fault = messageOf(failure);
      this.#note({
        event: 'peer-lost',
        node,
        reason: `${quote(`${host}:${port}`)} cannot be dialled: ${fault}`,
      });
    }
  }

  #open(peer: Peer): Link {
    const { clusterId, self, run, observer, draw = Math.random } = this.#options;
    const { node, store, host, port } = peer;
    const address = { host, port };
    const open = (lane: Lane): LaneLink =>
      new LaneLink({
        target: address,
        lane,
        address: this.#address(),
        header: { clusterId, from: self, to: { node, store } },
        run,
        faultInRun: (process) => this.duplicate(store, process),
        limits: this.#limits,
        world: this.#world,
        draw,
        listeners: {
          opened: () => this.#opened(link),
          lost: (reason) => this.#lost(link, reason),
          refused: (reason) => this.#refusedBy(node, `${formatAddress(address)}: ${reason}`),
          duplicate: (reason) => this.#refusedAsDuplicate(node, `${formatAddress(address)}: ${reason}`),
          sent: (bytes) => observer.sent(node, bytes),
          dropped: () => observer.sendFailed(node, lane === 'beats'),
          answered: (elapsedMs) => {
            if (lane === 'beats') observer.roundTrip(node, elapsedMs);
          },
        },
      });
    const lanes = { beats: open('beats'), appends: open('appends'), bulk: open('bulk') };
    const link: Link = { peer, lanes, isReached: false };
    observer.active(node, false);
    return link;
  }

  /** Address that is announced to others; undefined for one that means every address of this machine. */
  #address(): Address | undefined {
    const { host, port, advertisedHost = host } = this.#options;
    return EVERY_ADDRESS.has(advertisedHost) ? undefined : { host: advertisedHost, port };
  }

  /**
   * Called when another node opens a stream to this one.
   *
   * A caller that the catalog does not list is dialled at the address that it announces, while it has a stream (TP5).
   * It may have joined while this node was down, and this node can learn that only by answering it. A caller that the
   * catalog lists may have just started, so all lanes to it are dialled without a delay: heartbeats on one lane make
   * it ready, and answers to its requests use another one. While it is not reached it is dialled at the address that it
   * announces: when most nodes move at once, the catalog has no leader that could learn their new addresses otherwise.
   */
  #hear(caller: PeerIdentity, address: Address | undefined): void {
    if (address !== undefined) this.#seek({ ...caller, ...address });
    const link = this.#links.get(caller.node);
    if (link !== undefined) for (const lane of LANES) link.lanes[lane].hurry();
  }

  /** A caller that the catalog does not list has no stream any more. */
  #forget(node: NodeId): void {
    const guest = this.#links.get(node);
    if (guest !== undefined && !this.#named.has(node)) this.#drop(guest);
  }

  #seek(announced: Peer): void {
    const link = this.#links.get(announced.node);
    if (announced.node === this.#options.self.node || link?.isReached === true || isSame(announced, link?.peer)) return;
    if (link !== undefined) this.#drop(link);
    if (this.#links.size < this.#named.size + this.#limits.guestsMax) this.#dial(announced);
  }

  #opened(link: Link): void {
    if (this.#duplicates.delete(link.peer.node) && this.#duplicates.size === 0) {
      this.#options.observer.duplicate(undefined);
    }
    if (link.isReached) return;
    link.isReached = true;
    const { node, host, port } = link.peer;
    this.#options.observer.active(node, true);
    this.#note({ event: 'peer-reached', node, reason: `${host}:${port}` });
    this.#onReachable(node);
  }

  #lost(link: Link, reason: string): void {
    const { node } = link.peer;
    if (this.#links.get(node) !== link || LANES.some((lane) => link.lanes[lane].isOpen)) return;
    link.isReached = false;
    this.#options.observer.active(node, false);
    this.#note({ event: 'peer-lost', node, reason });
    const known = this.#named.get(node);
    if (known !== undefined && !isSame(known, link.peer)) {
      this.#drop(link);
      this.#dial(known);
    }
    this.#onUnreachable(node);
  }

  #refusedBy(node: NodeId, reason: string): void {
    if (this.#named.has(node)) this.#options.observer.refuses(node, reason);
    this.#note({ event: 'peer-refuses', node, reason });
  }

  /** A node refuses this process, because it has accepted another one of this node; after long enough this one ends. */
  #refusedAsDuplicate(node: NodeId, reason: string): void {
    this.#note({ event: 'peer-refuses', node, reason });
    if (!this.#named.has(node)) return;
    const [nowMs, silentMs] = [this.#world.nowMs(), silenceMs(this.#limits)];
    const known = this.#duplicates.get(node);
    const sinceMs = known !== undefined && nowMs < known.untilMs ? known.sinceMs : nowMs;
    this.#duplicates.set(node, { sinceMs, untilMs: nowMs + silentMs });
    this.#options.observer.duplicate(reason);
    if (nowMs >= sinceMs + DUPLICATE_SILENCES * silentMs) this.#options.onDuplicate?.(reason);
  }

  /** True when this process may vote and acknowledge beside another one of its node: then it sends nothing. */
  get #isDuplicate(): boolean {
    if (this.#duplicates.size === 0) return false;
    const nowMs = this.#world.nowMs();
    return [...this.#duplicates.values()].some(({ untilMs }) => nowMs < untilMs);
  }

  /** Closes the lanes; a node that is still in the catalog gets new ones. */
  #drop(link: Link): void {
    this.#links.delete(link.peer.node);
    if (link.isReached) this.#options.observer.active(link.peer.node, false);
    const closing = Promise.all(LANES.map((lane) => link.lanes[lane].close()));
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  /** Notes each kind and node once in an interval. */
  #note(note: PeerNote): void {
    const kind = `${note.event} ${note.node ?? ''}`;
    const nowMs = this.#world.nowMs();
    const last = this.#noted.get(kind);
    if (last !== undefined && nowMs < last + this.#limits.noteEveryMs) return;
    if (this.#noted.size >= NOTES_MAX) this.#noted.clear();
    this.#noted.set(kind, nowMs);
    this.#options.observer.note(note);
  }
}

function isSame(one: Peer | undefined, other: Peer | undefined): boolean {
  return one?.store === other?.store && one?.host === other?.host && one?.port === other?.port;
}
