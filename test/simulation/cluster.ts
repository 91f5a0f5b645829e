/** The nodes of a run as one cluster: their start, when they have formed a cluster, and their view of the catalog. */
import { ownReplica } from '#cluster';
import type { Simulator } from './engine/simulator.ts';
import { Overhear } from './faults/overhear.ts';
import type { Swarm } from './faults/swarm.ts';
import { DurabilityWatch } from './invariants/durability-watch.ts';
import { RaftWatch } from './invariants/raft-watch.ts';
import { THIS_RELEASE } from './node/releases.ts';
import type { ClusterPlace } from './node/seat.ts';
import { SimNode } from './node/sim-node.ts';
import { PeerExchange } from './peers/exchange.ts';
import { RelayLines } from './peers/relay-lines.ts';

export interface ClusterListener {
  readonly onDown: (node: SimNode) => void;
  readonly onMisbehaviour: (what: string) => void;
}

export class SimCluster {
  readonly exchange: PeerExchange;
  readonly overhear: Overhear = new Overhear();
  readonly nodes: readonly [SimNode, ...SimNode[]];
  readonly lines: RelayLines;
  readonly #listener: ClusterListener;
  readonly #simulator: Simulator;
  readonly #swarm: Swarm;

  constructor(simulator: Simulator, swarm: Swarm, listener: ClusterListener) {
    this.#simulator = simulator;
    this.#swarm = swarm;
    this.exchange = new PeerExchange(simulator);
    this.lines = new RelayLines(this.exchange);
    this.#listener = listener;
    const { watch, durability } = this.watchers();
    const names = Array.from({ length: swarm.nodeCount }, (_, place) => `node-${place + 1}`);
    const made = names.map((name, place) => this.#make({ names, place, name, watch, durability }, listener));
    const [first, ...others] = made;
    if (first === undefined) throw new Error('A cluster has a node');
    this.nodes = [first, ...others];
  }

  /** New watchers for a cluster, which must exist from its start. */
  watchers(): Pick<ClusterPlace, 'watch' | 'durability'> {
    const onFault = (fault: string): void => this.#listener.onMisbehaviour(fault);
    return { watch: new RaftWatch(onFault), durability: new DurabilityWatch(onFault) };
  }

  /** True when all nodes accept requests. */
  get isServing(): boolean {
    return this.nodes.every((node) => node.isServing);
  }

  /** True when every node knows all other nodes. */
  get isFormed(): boolean {
    const { nodes } = this;
    if (nodes.length === 1) return true;
    const own = nodes.map(({ process }) => process?.node?.identity.node);
    return nodes.every(({ process }) => {
      const known = process?.node?.catalog.nodes().filter(({ state }) => state !== 'removed') ?? [];
      return (
        known.length === nodes.length && known.every(({ node, state }) => own.includes(node) && state === 'active')
      );
    });
  }

  start(): void {
    const late = this.nodes.at(-1);
    const lateUs = this.#swarm.cluster?.lateUs ?? 0;
    for (const node of this.nodes) {
      if (node !== late || lateUs === 0) node.start();
      else this.#simulator.after(lateUs, `${node.name} comes late`, () => node.start());
    }
  }

  /**
   * Nodes whose own catalog says that they have a replica of the database. Nodes that do not know of their replica are
   * missing.
   */
  holders(name: string): readonly SimNode[] {
    return this.nodes.filter(({ process }) => {
      const { catalog, identity } = process?.node ?? {};
      const binding = catalog?.nodes().length === 0 ? undefined : catalog?.lookup(name);
      return this.nodes.length === 1 || (identity && binding && ownReplica(identity, binding)) !== undefined;
    });
  }

  /**
   * True when all nodes have the same catalog, no database is moving, and every replica has what its node has shown
   * before (C30).
   */
  get isSettled(): boolean {
    if (this.nodes.length === 1) return true;
    const catalogs = this.nodes.map(({ process }) => process?.node?.catalog.list());
    if (catalogs.some((catalog) => catalog?.some(({ leaving }) => leaving.length > 0) ?? true)) return false;
    const texts = catalogs.map((catalog) =>
      JSON.stringify(catalog?.map(({ name, databaseId, group, replicas }) => [name, databaseId, group, replicas])),
    );
    const isBehind = catalogs[0]?.some(({ name, group }) =>
      this.holders(name).some(({ process }) => process?.node?.absence(group) !== undefined),
    );
    return new Set(texts).size === 1 && isBehind !== true;
  }

  #make(
    of: {
      readonly names: readonly string[];
      readonly place: number;
      readonly name: string;
      readonly watch: RaftWatch;
      readonly durability: DurabilityWatch;
    },
    listener: ClusterListener,
  ): SimNode {
    const { names, place, name, watch, durability } = of;
    const simulator = this.#simulator;
    const { cluster, node: settings } = this.#swarm;
    const node: SimNode = new SimNode(
      {
        simulator,
        name,
        place: cluster && {
          exchange: this.exchange,
          lanes: cluster.hasLanes ? simulator : undefined,
          lines: this.lines,
          seeds: place === 0 ? [] : names.filter((other) => other !== name),
          zone: `zone-${(place % cluster.zones) + 1}`,
          copies: cluster.copies,
          replaceAfterMs: cluster.replaceAfterMs,
          watch,
          durability,
          overhear: this.overhear,
          release: THIS_RELEASE,
          isLearner: place >= names.length - cluster.learners,
        },
      },
      { ...settings, clockPpm: cluster?.clocks[place]?.ppm ?? settings.clockPpm },
      {
        onUp: () => undefined,
        onDown: () => listener.onDown(node),
        onMisbehaviour: listener.onMisbehaviour,
      },
    );
    node.clock.step(cluster?.clocks[place]?.aheadMs ?? 0);
    return node;
  }
}
