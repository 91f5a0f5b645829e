// Connects one process to its cluster: the identity of its store, its links to the other nodes, and the cluster
// configuration of its core. The parts are the real ones (own-identity.ts, peer/join.ts, thread/reach.ts, spread.ts),
// composed as in the real threads.
import { type Address, CATALOG_GROUP, DatabaseError, NO_BYTES } from '#base';
import {
  type ClientAddresses,
  type CorePorts,
  type CoreRuntime,
  type Envelope,
  type JoinRequest,
  joinCluster,
  type Machine,
  type Machines,
  type NodeIdentity,
  type NodeRegistration,
  nativeCrc32,
  type PeerObserver,
  type Peers,
  spreadOver,
} from '#cluster';
import type { KvStore } from '#kv';
import { decodeMembership, type Membership } from '#raft';
import { FOUNDERS } from '../../../src/cluster/node.ts';
import { noteRemoved, ownIdentity } from '../../../src/cluster/store/own-identity.ts';
import { openReach, type Reach } from '../../../src/cluster/thread/reach.ts';
import type { Release } from '../../support/cluster/replica-world.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { Overhear } from '../faults/overhear.ts';
import type { DurabilityWatch, WatchedDisk } from '../invariants/durability-watch.ts';
import type { Place, RaftWatch, SaidEntry, SaidMessage } from '../invariants/raft-watch.ts';
import type { PeerExchange } from '../peers/exchange.ts';
import type { RelayLines } from '../peers/relay-lines.ts';
import { SimLanes } from '../peers/sim-lanes.ts';
import { askOver, PEER_PORT, SimLinks } from '../peers/sim-links.ts';
import type { SimClock } from './sim-clock.ts';

/** Cluster configuration of a node. */
export interface ClusterPlace {
  readonly exchange: PeerExchange;
  /** Virtual time for sockets with real lanes; undefined: each frame is sent separately. */
  readonly lanes: Simulator | undefined;
  /** Connections for relayed requests. */
  readonly lines: RelayLines;
  /** Names of other nodes to join through; empty for the node that founds the cluster. */
  readonly seeds: readonly string[];
  readonly zone: string;
  /** Number of replicas of a new database. */
  readonly copies: number;
  /** Silence after which the replicas of a node are replaced; undefined: never. */
  readonly replaceAfterMs: number | undefined;
  readonly watch: RaftWatch;
  readonly durability: DurabilityWatch;
  readonly overhear: Overhear;
  /** Release of the next process. */
  readonly release: Release;
  /** True when the node never votes. */
  readonly isLearner: boolean;
}

export interface SeatParts extends ClusterPlace {
  readonly name: string;
  readonly disk: WatchedDisk;
  /** Thread of the core. */
  readonly thread: Isolate;
  readonly clock: SimClock;
  readonly random: Rng;
  readonly onDeceived: (from: string) => void;
  /** Called when a lane has delivered a wrong frame. */
  readonly onFlaw: (what: string) => void;
  /** Called when a database gets an entry of a level that the release does not know. */
  readonly onUnknownLevel: (group: number, level: number) => void;
}

const JOIN_MS_MAX = 60_000;
const RELEASE = 'simulated';

export class Seat {
  readonly #parts: SeatParts;
  #storeId = '';
  #links: SimLinks | SimLanes | undefined;
  #reach: Reach | undefined;

  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  /** The identity of the store. A new store gets one by founding or joining, unless there is a log next to it. */
  async identity(store: KvStore, hasLog: () => boolean): Promise<NodeIdentity> {
    const { clock, random, seeds, isLearner } = this.#parts;
    const identity = await ownIdentity(store, {
      place: 'data',
      nowMs: clock.nowMs(),
      random,
      isLearner,
      origin: seeds.length === 0 ? { kind: 'alone' } : { kind: 'asks', ask: (storeId) => this.#join(storeId) },
      // Like src/cluster/store/data-directory.ts: a node that has lost its ledger must not join as another one.
      checkNew: async () => {
        if (!hasLog()) return;
        const details = { reason: 'StoreMissing' };
        throw new DatabaseError('internal', 'There is a log, and a ledger that is new beside it', { details });
      },
    });
    this.#storeId = identity.storeId;
    return identity;
  }

  /** The cluster ports of a core with this store. */
  async open(
    identity: NodeIdentity,
    store: KvStore,
  ): Promise<
    Pick<CorePorts, 'node' | 'isLearner' | 'founders' | 'placement' | 'levels' | 'upkeep' | 'peers' | 'machines'>
  > {
    const { name, thread, random, exchange, copies, replaceAfterMs, overhear, release } = this.#parts;
    const { watch, durability, disk, onUnknownLevel } = this.#parts;
    const { node, isLearner } = identity;
    durability.isOn(node, disk);
    if (isLearner) watch.learners.add(node);
    const reach = await openReach(
      {
        openLinks: (options) => {
          const { onDeceived, onFlaw, lanes } = this.#parts;
          const parts = { exchange, thread, options, onDeceived };
          this.#links =
            lanes === undefined ? new SimLinks(parts) : new SimLanes({ ...parts, onFlaw, simulator: lanes });
          return Promise.resolve(this.#links);
        },
        askToJoin: (address, request, timeoutMs) => this.#ask(address, request, timeoutMs),
        observer: this.#observer(),
        random,
        sleep: (ms) => thread.sleep(ms * 1000, 'pause'),
        noteRemoved: () => noteRemoved(store, identity),
      },
      identity,
      { host: name, port: PEER_PORT, peers: [], seeds: this.#seeds, release: RELEASE },
    );
    this.#reach = reach;
    return {
      node,
      isLearner,
      founders: FOUNDERS,
      placement: spreadOver(copies, node),
      upkeep: { copies, replaceAfterMs },
      peers: watchedPeers(reach.mail, (message) => {
        watch.said(message);
        durability.said(message);
        overhear.said(message, name);
      }),
      levels: release.levels,
      machines: watchedMachines(release.machines, (group, entry, level) => {
        watch.applied(group, entry, name);
        durability.applied(group, entry, node);
        if (level !== undefined && level > release.levels.max) onUnknownLevel(group, level);
      }),
    };
  }

  /** Connects the core, and watches for the removal of the node, which ends the process. */
  begin(core: CoreRuntime, onFailure: (failure: unknown) => void): void {
    this.#reach?.begin(core);
    this.#reach?.announcer.watch().catch(onFailure);
  }

  /** Announces the addresses of the node; a refusal ends the process. */
  announce(clients: ClientAddresses, onFailure: (failure: unknown) => void): void {
    this.#reach?.announcer.announce({ ...this.#registration(this.#storeId), ...clients }).catch(onFailure);
  }

  /** Called before the core drains. */
  quieten(): void {
    this.#reach?.announcer.close();
  }

  async close(): Promise<void> {
    await this.#reach?.close();
  }

  /** Ends the connections of the dead process; with `isSilent` its machine is gone, too. */
  end(isSilent: boolean): void {
    this.#links?.end(isSilent);
  }

  get #seeds(): readonly Address[] {
    return this.#parts.seeds.map((host) => ({ host, port: PEER_PORT }));
  }

  #join(storeId: string): ReturnType<typeof joinCluster> {
    const { thread, clock } = this.#parts;
    const ports = {
      ask: (address: Address, request: JoinRequest, timeoutMs: number) => this.#ask(address, request, timeoutMs),
      sleep: (ms: number) => thread.sleep(ms * 1000, 'join pause'),
      monotonicMs: () => clock.monotonicMs(),
    };
    const request = { clusterId: undefined, registration: this.#registration(storeId), release: RELEASE, run: 0 };
    return joinCluster(ports, this.#seeds, request, JOIN_MS_MAX);
  }

  #ask({ host }: Address, request: JoinRequest, timeoutMs: number): ReturnType<typeof askOver> {
    const { exchange, thread, name } = this.#parts;
    return askOver(exchange, thread, name, { host, request, timeoutMs });
  }

  #registration(storeId: string): NodeRegistration {
    const { name, zone, release, isLearner } = this.#parts;
    const { levels } = release;
    return { storeId, name, zone, peer: { host: name, port: PEER_PORT }, grpc: '', http: '', levels, isLearner };
  }

  #observer(): PeerObserver {
    return {
      sent: nothing,
      sendFailed: nothing,
      received: nothing,
      receiveFailed: () => this.#links?.refused(),
      active: nothing,
      duplicate: () => undefined,
      refuses: nothing,
      stoppedReading: () => this.#parts.lanes?.note(`${this.#parts.name} reads no more appends`),
      roundTrip: nothing,
      note: nothing,
    };
  }
}

interface AnyEntry extends Place {
  readonly payload: Uint8Array | undefined;
  readonly membership?: Membership | undefined;
}

function watchedPeers(mail: Peers, said: (message: SaidMessage) => void): Peers {
  return {
    send: (to, messages, tables = {}) => {
      const { beats, answers } = tables;
      const again = [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? [])];
      for (const envelope of [...messages, ...again]) said(saidOf(envelope));
      mail.send(to, messages, tables);
    },
    forward: (to, items) => mail.forward(to, items),
    setPeers: (peers) => mail.setPeers(peers),
    sendLetter: (to, letter) => mail.sendLetter(to, letter),
  };
}

function saidOf({ group, from, to, message }: Envelope): SaidMessage {
  const { kind, term } = message;
  const isGranted = kind === 'vote-reply' && message.isGranted;
  const match = kind === 'append-ack' ? message.match : undefined;
  const round = kind === 'beat' || kind === 'beat-ack' ? message.round : undefined;
  const said = { group, from, to, kind, term, isGranted, match, round };
  if (kind !== 'append') return { ...said, previous: undefined, entries: [] };
  return { ...said, previous: message.previous, entries: message.entries.map(entryOf) };
}

function entryOf({ index, term, payload, membership }: AnyEntry): SaidEntry {
  return { index, term, digest: nativeCrc32(payload ?? NO_BYTES), voters: membership?.voters };
}

/** The real state machines, with a listener for applied entries. */
function watchedMachines(
  machines: Machines,
  applied: (group: number, entry: SaidEntry, level: number | undefined) => void,
): Machines {
  const watched = <Watched extends Machine>(group: number, machine: Watched): Watched => {
    const apply = machine.apply.bind(machine);
    const seen: Machine['apply'] = (entry) => {
      // The first byte of a transaction is its level (docs/formats/entries.md).
      const decoded = entry.membership && decodeMembership(entry.membership);
      const membership = typeof decoded === 'string' ? undefined : decoded;
      applied(group, entryOf({ ...entry, membership }), group === CATALOG_GROUP ? undefined : entry.payload[0]);
      return apply(entry);
    };
    return Object.assign(machine, { apply: seen });
  };
  return {
    ...machines,
    openCatalog: (kv, founders) => watched(CATALOG_GROUP, machines.openCatalog(kv, founders)),
    createDatabase: (kv, binding) => watched(binding.group, machines.createDatabase(kv, binding)),
    openDatabase: (kv, group) => {
      const machine = machines.openDatabase(kv, group);
      return machine === undefined ? undefined : watched(group, machine);
    },
  };
}

function nothing(): void {}
