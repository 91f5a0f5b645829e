// A fault of moves: a database leaves a node and returns before the node has deleted the old data, so that the end of
// one replica and the start of the next are as close as possible (C17). Meanwhile the log's disk of the node is slow,
// so that the end takes time and writes are always in progress.
import { type GroupId, type NodeId, nodeOf } from '#base';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';

export interface Return {
  readonly kind: 'return';
  /** Indexes of the database, of the node that it leaves, and of the node that replaces it. */
  readonly database: number;
  readonly holder: number;
  readonly other: number;
  /** Factor by which the disk of the log is slower. */
  readonly times: number;
}

interface ReturnerParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly onBug: (failure: unknown) => void;
}

interface Journey {
  readonly name: string;
  readonly group: GroupId;
  readonly home: readonly NodeId[];
  readonly away: readonly NodeId[];
  readonly node: NodeId;
  readonly host: SimNode;
}

const SECOND_US = 1_000_000;
const LOOK_US = 10_000;
const AWAY_US_MAX = 10 * SECOND_US;
const BACK_US_MAX = 5 * SECOND_US;
/** Interval between placement requests; repeating the same one has no effect. */
const ASK_US = SECOND_US / 4;

export function drawReturn(random: Rng): Return {
  return {
    kind: 'return',
    database: random.between(0, 9),
    holder: random.between(0, 4),
    other: random.between(0, 4),
    times: random.pick([30, 100, 300]),
  };
}

export class Returner {
  readonly #parts: ReturnerParts;
  #isOver = false;

  constructor(parts: ReturnerParts) {
    this.#parts = parts;
  }

  heal(): void {
    this.#isOver = true;
  }

  do(action: Return): void {
    const journey = this.#plan(action);
    if (journey !== undefined)
      this.#travel(journey, action.times).catch((failure: unknown) => this.#parts.onBug(failure));
  }

  async #travel(journey: Journey, times: number): Promise<void> {
    const { host, node, away, home, name } = journey;
    host.disk.slowness = times;
    const isThere = (): boolean => replicasOn(host, name).includes(node);
    await this.#place(journey, away, () => !isThere(), AWAY_US_MAX);
    if (!isThere()) {
      this.#parts.simulator.note(`${name} has left ${host.name}`);
      await this.#place(journey, home, isThere, BACK_US_MAX);
      if (isThere()) this.#parts.simulator.note(`${name} has come back to ${host.name}`);
    }
    if (!this.#isOver) host.disk.slowness = 1;
  }

  /** Requests the placement from every node until it is reached. */
  async #place({ group }: Journey, nodes: readonly NodeId[], isDone: () => boolean, limitUs: number): Promise<void> {
    const { simulator } = this.#parts;
    const untilUs = simulator.nowUs + limitUs;
    for (let askUs = 0; !isDone() && !this.#isOver && simulator.nowUs < untilUs; ) {
      if (simulator.nowUs >= askUs) {
        askUs = simulator.nowUs + ASK_US;
        for (const { process } of this.#parts.nodes) process?.place(group, nodes);
      }
      await simulator.sleep(LOOK_US, 'return');
    }
  }

  #plan({ database, holder, other }: Return): Journey | undefined {
    const { nodes } = this.#parts;
    const catalog = nodes.find(({ process }) => process?.node !== undefined)?.process?.node?.catalog;
    const bindings = catalog?.list() ?? [];
    const binding = bindings[database % Math.max(1, bindings.length)];
    if (catalog === undefined || binding === undefined) return undefined;
    const { name, group, replicas } = binding;
    const home = replicas.map(nodeOf);
    const node = home[holder % home.length];
    const strangers = catalog.nodes().filter((each) => each.state === 'active' && !home.includes(each.node));
    const next = strangers[other % Math.max(1, strangers.length)];
    const host = nodes.find(({ process }) => process?.node?.identity.node === node);
    if (node === undefined || next === undefined || host === undefined) return undefined;
    return { name, group, home, away: home.map((each) => (each === node ? next.node : each)), node, host };
  }
}

/** According to the node. */
function replicasOn({ process }: SimNode, name: string): readonly NodeId[] {
  return process?.node?.catalog.lookup(name)?.replicas.map(nodeOf) ?? [];
}
