// The seat of one process in a cluster: who its store is, how it reaches the others, and what its core is told of both.
// The parts are the real ones (own-identity.ts, peer/join.ts, thread/reach.ts, spread.ts), as the real threads join
// them.
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
import type { Membership } from '#raft';
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
import { STORE_IS_MISSING } from './excuses.ts';
import type { SimClock } from './sim-clock.ts';

/** What a node is told of its cluster when it is started. */
export interface ClusterPlace {
  readonly exchange: PeerExchange;
  /** Nodes reach each other by the real lanes, over sockets in this time; undefined: each frame travels for itself. */
  readonly lanes: Simulator | undefined;
  /** For what nodes have others answer. */
  readonly lines: RelayLines;
  /** Names of the others; whoever has none founds the cluster. */
  readonly seeds: readonly string[];
  readonly zone: string;
  /** Of a new database. */
  readonly copies: number;
  /** What was on a node that is silent for so long is put elsewhere; undefined: never. */
  readonly replaceAfterMs: number | undefined;
  readonly watch: RaftWatch;
  readonly durability: DurabilityWatch;
  readonly overhear: Overhear;
  /** What the next process runs. */
  readonly release: Release;
}

export interface SeatParts extends ClusterPlace {
  readonly name: string;
  readonly disk: WatchedDisk;
  /** The thread of the core. */
  readonly thread: Isolate;
  readonly clock: SimClock;
  readonly random: Rng;
  readonly onDeceived: (from: string) => void;
  /** A lane has handed on what it may not. */
  readonly onFlaw: (what: string) => void;
  /** A database is given an entry of a feature level that the release does not know. */
  readonly onUnknownLevel: (group: number, level: number) => void;
}

const JOIN_MS_MAX = 60_000;
const RELEASE = 'simulated';

export class Seat {
  readonly #parts: SeatParts;
  #storeId = '';
  #store: KvStore | undefined;
  #links: SimLinks | SimLanes | undefined;
  #reach: Reach | undefined;

  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  /** Who the store is; a new one becomes somebody first, unless there is a log beside it. */
  async identity(store: KvStore, hasLog: () => boolean): Promise<NodeIdentity> {
    const { clock, random, seeds } = this.#parts;
    const identity = await ownIdentity(store, {
      place: 'data',
      nowMs: clock.nowMs(),
      random,
      origin: seeds.length === 0 ? { kind: 'alone' } : { kind: 'asks', ask: (storeId) => this.#join(storeId) },
      // As src/cluster/store/data-directory.ts: a store that was lost must not ask to be taken in as another one.
      checkNew: async () => {
        if (!hasLog()) return;
        const details = { reason: STORE_IS_MISSING };
        throw new DatabaseError('internal', 'There is a log, and a store that is new beside it', { details });
      },
    });
    this.#storeId = identity.storeId;
    this.#store = store;
    return identity;
  }

  /** What the core is given. */
  async open(
    identity: NodeIdentity,
  ): Promise<
    Pick<CorePorts, 'node' | 'founders' | 'placement' | 'levels' | 'upkeep' | 'wanted' | 'peers' | 'machines'>
  > {
    const { name, thread, random, exchange, copies, replaceAfterMs, overhear, release } = this.#parts;
    const { watch, durability, disk, onUnknownLevel } = this.#parts;
    const { node } = identity;
    durability.isOn(node, disk);
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
        noteRemoved: async () => {
          if (this.#store !== undefined) await noteRemoved(this.#store, identity);
        },
      },
      identity,
      { host: name, port: PEER_PORT, peers: [], seeds: this.#seeds, release: RELEASE },
    );
    this.#reach = reach;
    return {
      node,
      founders: FOUNDERS,
      placement: spreadOver(copies, node),
      upkeep: { copies, replaceAfterMs },
      wanted: () => undefined,
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

  /** What it hears of its end ends the process. */
  begin(core: CoreRuntime, onFailure: (failure: unknown) => void): void {
    this.#reach?.begin(core);
    this.#reach?.announcer.watch().catch(onFailure);
  }

  /** Says where the node is; what it is refused with ends the process. */
  announce(clients: ClientAddresses, onFailure: (failure: unknown) => void): void {
    this.#reach?.announcer.announce({ ...this.#registration(this.#storeId), ...clients }).catch(onFailure);
  }

  /** Before the core drains. */
  quieten(): void {
    this.#reach?.announcer.close();
  }

  async close(): Promise<void> {
    await this.#reach?.close();
  }

  /** The process has died; with `isSilent` the machine, too. */
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
    const { name, zone, release } = this.#parts;
    const { levels } = release;
    return { storeId, name, zone, peer: { host: name, port: PEER_PORT }, grpc: '', http: '', levels };
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
    send: (to, messages, refrains = {}) => {
      const { beats, answers } = refrains;
      const again = [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? [])];
      for (const envelope of [...messages, ...again]) said(saidOf(envelope));
      mail.send(to, messages, refrains);
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

/** The real machines, and somebody who sees what they are given. */
function watchedMachines(
  machines: Machines,
  applied: (group: number, entry: SaidEntry, level: number | undefined) => void,
): Machines {
  const watched = <Watched extends Machine>(group: number, machine: Watched): Watched => {
    const apply = machine.apply.bind(machine);
    const seen: Machine['apply'] = (entry) => {
      // The first byte of what a transaction is (docs/formats/entries.md).
      applied(group, entryOf(entry), group === CATALOG_GROUP ? undefined : entry.payload[0]);
      return apply(entry);
    };
    return Object.assign(machine, { apply: seen });
  };
  return {
    ...machines,
    openCatalog: (kv, founders) => watched(CATALOG_GROUP, machines.openCatalog(kv, founders)),
    createDatabase: (kv, binding, founders) => watched(binding.group, machines.createDatabase(kv, binding, founders)),
    openDatabase: (kv, group) => {
      const machine = machines.openDatabase(kv, group);
      return machine === undefined ? undefined : watched(group, machine);
    },
  };
}

function nothing(): void {}
