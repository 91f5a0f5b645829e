// An answer to a write that one node has passed on to another is lost, and whoever is asked next refuses it for want of
// room: that refusal says nothing of the attempt before it, which may be committed (TM8). Chance does not find it: the
// holder has to be lost in the few milliseconds in which it has the write, and the others have to be full by then.
import { nodeOf } from '#base';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { RelayedWrite, RelayLines } from '../peers/relay-lines.ts';

export interface Interception {
  readonly kind: 'intercept';
  /** Of the databases of which some node holds no copy, which. */
  readonly database: number;
  /** Of its holders, who has room: whoever leads, or which. */
  readonly spared: 'leader' | number;
  /** It has taken such a write in, or knows what came of it and says so. */
  readonly word: RelayedWrite['word'];
  /** Such words that go by before. */
  readonly skip: number;
  /** Its process or its machine ends; or it ends the connection; or nothing more gets back by that. */
  readonly blow: 'process' | 'power' | 'reset' | 'silence';
  /** From the word to the blow. An answer does not get out before that. */
  readonly delayUs: number;
  /** How long it waits, and how long the disks of the others are full after that. */
  readonly waitUs: number;
  readonly durationUs: number;
}

interface InterceptorParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly lines: RelayLines;
}

const MILLISECOND_US = 1000;
/** Each node has looked at its disk by then. */
const LOOKED_US = 300 * MILLISECOND_US;
/** More than what stops a log, and less than what a node takes writes with. */
const ROOM_SEGMENTS = 3;
/** Whoever waits for an answer of somebody silent has turned to another one by then. */
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

  /** Nothing is lost any more. */
  heal(): void {
    this.#isOver = true;
  }

  do(action: Interception): void {
    const spared = this.#fillOthers(action);
    if (spared !== undefined) this.#later(LOOKED_US, 'interception begins', () => this.#wait(action, spared));
  }

  /** Says who has room; undefined: every node holds a copy of every database, or none has two copies. */
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
