// A fault for relayed writes: the answer to a write that one node has relayed to another is lost, and the next node
// refuses the repeated write because its disk is full. That refusal does not say anything about the earlier attempt,
// which may be committed (TM8). Random faults do not find this: the node with the replica must be lost in the few
// milliseconds in which it has the write, and the others must be full by then.
import { nodeOf } from '#base';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { RelayedWrite, RelayLines } from '../peers/relay-lines.ts';

export interface Interception {
  readonly kind: 'intercept';
  /** Index among the databases that are missing on some node. */
  readonly database: number;
  /** The node with a replica that keeps free space: the leader, or the one with this index. */
  readonly spared: 'leader' | number;
  /** State of the relayed write at the target: accepted, or its outcome is known and reported. */
  readonly word: RelayedWrite['word'];
  /** Number of such messages to skip. */
  readonly skip: number;
  /** The fault of the target: its process or machine ends, it resets the connection, or no more answers get back. */
  readonly blow: 'process' | 'power' | 'reset' | 'silence';
  /** Time from the message to the fault. No answer gets out before. */
  readonly delayUs: number;
  /** Time to wait for such a message, and time for which the disks of the others stay full afterwards. */
  readonly waitUs: number;
  readonly durationUs: number;
}

interface InterceptorParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly lines: RelayLines;
}

const MILLISECOND_US = 1000;
/** Time after which each node has checked its disk. */
const LOOKED_US = 300 * MILLISECOND_US;
/** More than the size at which a log stops, and less than the size at which a node accepts writes. */
const ROOM_SEGMENTS = 3;
/** Time after which a node has given up waiting for a silent node and has asked another one. */
const SILENT_US = 3000 * MILLISECOND_US;

export function drawInterception(random: Rng): Interception {
  const word = random.pick<Interception['word']>(['taken', 'answered']);
  const blow = random.pick<Interception['blow']>(['process', 'power', 'reset', 'silence']);
  return {
    kind: 'intercept',
    database: random.between(0, 9),
    spared: random.chance(0.8) ? 'leader' : random.between(0, 4),
    word,
    skip: random.chance(0.6) ? 0 : random.between(1, 4),
    blow,
    delayUs: word === 'answered' ? 0 : random.pick([0, 1, 5, 20, 60]) * MILLISECOND_US,
    waitUs: random.between(1000, 6000) * MILLISECOND_US,
    durationUs: random.between(300, 2000) * MILLISECOND_US + (blow === 'silence' ? SILENT_US : 0),
  };
}

export class Interceptor {
  readonly #parts: InterceptorParts;
  #isOver = false;

  constructor(parts: InterceptorParts) {
    this.#parts = parts;
  }

  /** Ends the fault. */
  heal(): void {
    this.#isOver = true;
  }

  do(action: Interception): void {
    const spared = this.#fillOthers(action);
    if (spared !== undefined) this.#later(LOOKED_US, 'interception begins', () => this.#wait(action, spared));
  }

  /**
   * Fills the disks of all nodes except one. Undefined when every node has a replica of every database, or none has
   * two.
   */
  #fillOthers({ database, spared: wanted }: Interception): { readonly host: SimNode; readonly full: Full } | undefined {
    const { nodes, simulator } = this.#parts;
    const catalog = nodes.find(({ process }) => process?.node !== undefined)?.process?.node?.catalog;
    const active = catalog?.nodes().filter(({ state }) => state === 'active') ?? [];
    const lacking = (catalog?.list() ?? []).filter(
      ({ replicas }) => replicas.length > 1 && active.some(({ node }) => !replicas.map(nodeOf).includes(node)),
    );
    const binding = lacking[database % Math.max(1, lacking.length)];
    const holders = nodes.filter(({ process }) => {
      const own = process?.node?.identity.node;
      return own !== undefined && binding?.replicas.map(nodeOf).includes(own) === true;
    });
    const leader = holders.find(({ running }) => binding !== undefined && running?.leads(binding.group) === true);
    const host = wanted === 'leader' ? leader : holders[wanted % Math.max(1, holders.length)];
    if (binding === undefined || host === undefined) return undefined;
    const full = holders.filter((holder) => holder !== host);
    for (const holder of full) holder.leaveRoomFor(ROOM_SEGMENTS);
    simulator.note(`of the holders of ${binding.name} ${host.name} alone has room`);
    return { host, full };
  }

  #wait(action: Interception, { host, full }: { readonly host: SimNode; readonly full: Full }): void {
    const { lines, simulator } = this.#parts;
    let left = action.skip;
    let isDone = false;
    const end = (durationUs: number): void => {
      isDone = true;
      stop();
      this.#later(durationUs, 'room again', () => {
        for (const holder of full) holder.limitDisk(undefined);
      });
    };
    const stop = lines.listen((write) => {
      if (isDone || this.#isOver || write.word !== action.word || write.to !== host.name) return;
      left -= 1;
      if (left >= 0) return;
      end(action.durationUs);
      simulator.note(`a write of ${write.from} that ${write.to} has ${write.word} is intercepted`);
      this.#strike(action, host, write);
    });
    simulator.after(action.waitUs, 'interception gives up', () => {
      if (!isDone) end(0);
    });
  }

  #strike({ word, blow, delayUs }: Interception, host: SimNode, write: RelayedWrite): void {
    if (word === 'answered') {
      if (blow === 'process' || blow === 'reset') write.reset();
      else write.silence();
    }
    this.#later(delayUs, 'interception', () => {
      if (blow === 'reset') write.reset();
      else if (blow === 'silence') write.silence();
      else host.crash(blow === 'process' ? { kind: 'process' } : { kind: 'power', share: 0 });
    });
  }

  #later(delayUs: number, label: string, work: () => void): void {
    this.#parts.simulator.after(delayUs, label, () => {
      if (!this.#isOver) work();
    });
  }
}

type Full = readonly SimNode[];
