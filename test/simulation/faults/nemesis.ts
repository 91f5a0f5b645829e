/** Injects the faults of a plan at their times, and heals everything at the end. */
import { ledgerIn } from '#storage';
import type { Simulator } from '../engine/simulator.ts';
import type { History } from '../history.ts';
import { CALM, type Network } from '../network.ts';
import { DIRECTORY } from '../node/process.ts';
import type { ClusterPlace } from '../node/seat.ts';
import type { SimNode } from '../node/sim-node.ts';
import { CALM_PEERS, type PeerExchange } from '../peers/exchange.ts';
import { NO_HARM } from '../peers/lane-harm.ts';
import type { RelayLines } from '../peers/relay-lines.ts';
import { Interceptor } from './interception.ts';
import type { LostSegment } from './lost-segments.ts';
import { Operator } from './operator.ts';
import type { Overhear } from './overhear.ts';
import type { Fault, FaultAction } from './plan.ts';
import { Recoverer } from './recovery.ts';
import { Refounder } from './refounding.ts';
import { resize } from './resizing.ts';
import { Returner } from './returning.ts';
import type { LostRows, SpoiledHistory, StoreCut } from './store-cuts.ts';
import { Trapper } from './traps.ts';

export type Watchers = Pick<ClusterPlace, 'watch' | 'durability'>;

export interface NemesisParts {
  readonly simulator: Simulator;
  readonly network: Network;
  readonly history: History;
  readonly nodes: readonly [SimNode, ...SimNode[]];
  /** The network between the nodes. */
  readonly exchange: PeerExchange;
  readonly overhear: Overhear;
  /** Connections for relayed requests. */
  readonly lines: RelayLines;
  readonly clients: readonly string[];
  /** Creates watchers for a new cluster. */
  readonly watchers: () => Watchers;
  readonly onBug: (failure: unknown) => void;
}

const LEDGER = ledgerIn(DIRECTORY);
/** Parts of the names of files that rot. */
const ROTTEN = { log: '.wal', guard: 'guard', ledger: LEDGER } as const;
const LOOK_US = 1000;
/** Delay of a second drain request. */
const AGAIN_US = 100_000;
/** Time after which an answer has usually reached its client. */
const ANSWERED_US = 10_000;

/** Kinds of faults that select their nodes themselves. */
const FREE_KINDS: ReadonlySet<string> = new Set(['trap', 'intercept']);

export class Nemesis {
  readonly #parts: NemesisParts;
  readonly #trapper: Trapper;
  readonly #operator: Operator;
  readonly #recoverer: Recoverer;
  readonly #refounder: Refounder;
  readonly #returner: Returner;
  readonly #interceptor: Interceptor;
  #isOver = false;

  constructor(parts: NemesisParts) {
    this.#parts = parts;
    this.#trapper = new Trapper(parts);
    this.#operator = new Operator(parts);
    this.#recoverer = new Recoverer(parts);
    this.#refounder = new Refounder(parts);
    this.#returner = new Returner(parts);
    this.#interceptor = new Interceptor(parts);
  }

  /** Schedules the faults, with times relative to now. */
  schedule(faults: readonly Fault[]): void {
    const { simulator } = this.#parts;
    for (const fault of faults) {
      simulator.after(fault.atUs, `fault ${fault.number}`, () => {
        if (this.#isOver) return;
        const { nodes } = this.#parts;
        const node = nodes[fault.node] ?? nodes[0];
        const where = nodes.length > 1 && !FREE_KINDS.has(fault.action.kind) ? `${node.name} ` : '';
        simulator.note(`fault ${fault.number}: ${where}${JSON.stringify(fault.action)}`);
        this.#do(fault.action, node);
      });
    }
  }

  /** True while another cluster is being founded, which always runs to completion. */
  get isRefounding(): boolean {
    return this.#refounder.isAtWork;
  }

  /** True while nodes are being upgraded, which always runs to completion. */
  get isUpgrading(): boolean {
    return this.#operator.isUpgrading;
  }

  /** Ends all faults and repairs all damage. */
  heal(): void {
    const { nodes, network, exchange } = this.#parts;
    this.#isOver = true;
    this.#trapper.heal();
    this.#operator.heal();
    this.#recoverer.heal();
    this.#refounder.heal();
    this.#returner.heal();
    this.#interceptor.heal();
    network.heal();
    exchange.heal();
    for (const node of nodes) {
      node.disk.arm(undefined);
      node.store.failAfter(undefined);
      node.store.strikeAfter(0, undefined);
      node.limitDisk(undefined);
      // Without agreeing clocks no node assigns times (C41).
      node.clock.correct();
      slow(node, 1);
      node.disk.isStalled = false;
      if (node.disk.isDamaged || node.store.isDamaged) this.#repair(node);
    }
  }

  #do(action: FaultAction, node: SimNode): void {
    switch (action.kind) {
      case 'crash':
        return node.crash(action.ending);
      case 'cut':
        node.endsWith(action.ending);
        return node.disk.arm(action.armed);
      case 'again':
        return this.#fellAgain(action, node);
      case 'disk-error':
        return node.disk.arm(action.armed);
      case 'store-error':
        return node.store.failAfter(action.afterWrites);
      case 'full':
        node.limitDisk(action.freeBytes);
        return this.#later(action.durationUs, 'room again', () => node.limitDisk(undefined));
      case 'slow':
        slow(node, action.times);
        return this.#later(action.durationUs, 'fast again', () => slow(node, 1));
      case 'stall':
        return this.#stall(action, node);
      case 'behind':
        node.crash({ kind: 'power', share: 0 });
        node.store.slowness = action.times;
        return this.#later(action.durationUs, 'fast again', () => slow(node, 1));
      case 'pause':
        return pause(node, action.thread, action.durationUs);
      case 'clock':
        return node.clock.step(action.byMs);
      case 'drain':
        return this.#drain(action, node);
      case 'rot':
        return this.#rot(action, node);
      case 'store-cut':
        return this.#cutStore(action, node);
      case 'lost-rows':
        return void this.#loseRows(action, node).catch(this.#parts.onBug);
      case 'spoiled-history':
        return void this.#spoilHistory(action, node).catch(this.#parts.onBug);
      case 'lost-segment':
        return this.#awaitSegments(action, node, this.#parts.simulator.nowUs + action.waitUs);
      case 'network':
      case 'one-way':
      case 'partition':
      case 'peer-network':
      case 'lane-harm':
        return this.#disturb(action, node);
      case 'move':
        return this.#move(action);
      case 'resize':
        return resize(action, node, this.#parts.nodes);
      case 'return':
        return this.#returner.do(action);
      case 'intercept':
        return this.#interceptor.do(action);
      case 'trap':
        return this.#trapper.set(action);
      case 'recover':
        return this.#recoverer.do(action);
      case 'refound':
        return this.#refounder.do(action);
      case 'rolling':
      case 'leave':
      case 'replace':
      case 'wipe':
      case 'absent':
      case 'upgrade':
        return this.#operator.do(action, node);
    }
  }

  #disturb(action: NetworkFault, node: SimNode): void {
    const { network, exchange, nodes, clients } = this.#parts;
    const later = (label: string, work: () => void): void => this.#later(action.durationUs, label, work);
    switch (action.kind) {
      case 'network':
        network.conditions = action.conditions;
        return later('calm again', () => void (network.conditions = CALM));
      case 'one-way':
        for (const client of clients) {
          network.close(action.isAnswers ? node.name : client, action.isAnswers ? client : node.name);
        }
        return later('open again', () => network.heal());
      case 'peer-network':
        exchange.conditions = action.conditions;
        return later('peers are calm again', () => void (exchange.conditions = CALM_PEERS));
      case 'lane-harm':
        exchange.harm = action.harm;
        return later('lanes are let be', () => void (exchange.harm = NO_HARM));
      case 'partition':
        for (const [from, to] of action.ways) exchange.close(nodes[from]?.name ?? '', nodes[to]?.name ?? '');
        return later('together again', () => exchange.open());
    }
  }

  #drain({ deaf, deafUs, isRepeated }: Extract<FaultAction, { readonly kind: 'drain' }>, node: SimNode): void {
    const others = this.#parts.nodes.filter((each, place) => each !== node && deaf.includes(place));
    for (const other of others) pause(other, 'core', deafUs);
    node.drain();
    if (isRepeated) this.#later(AGAIN_US, 'told again', () => node.drain());
  }

  /** Asks each running node, like an operator that tries one after the other. */
  #move({ database, nodes: places }: Extract<FaultAction, { readonly kind: 'move' }>): void {
    const { nodes } = this.#parts;
    for (const { running } of nodes) {
      if (running?.node === undefined) continue;
      const registered = running.node.catalog.nodes();
      const bindings = running.node.catalog.list();
      const binding = bindings[database % Math.max(1, bindings.length)];
      const wanted = registered.filter(({ name }) => places.some((place) => nodes[place]?.name === name));
      if (binding === undefined || wanted.length !== places.length) continue;
      running.place(
        binding.group,
        wanted.map(({ node }) => node),
      );
    }
  }

  #rot({ where, ending, durationUs }: Extract<FaultAction, { readonly kind: 'rot' }>, node: SimNode): void {
    const { simulator, onBug } = this.#parts;
    if (where === 'misdirected') node.disk.arm({ mishap: 'misdirect', kinds: ['write'], after: 0 });
    else if (where === 'lost') this.#lose(node, simulator.nowUs + durationUs);
    else if (where === 'store') node.store.flip().then((place) => simulator.note(`spoiled: ${place}`), onBug);
    else simulator.note(`spoiled: ${node.disk.flip(ROTTEN[where])}`);
    if (ending !== undefined && where !== 'lost') this.#later(20_000, 'after rot', () => node.crash(ending));
    this.#later(durationUs, 'repair', () => this.#repair(node));
  }

  #cutStore({ writes, durationUs }: StoreCut, node: SimNode): void {
    const { simulator, onBug } = this.#parts;
    node.hold();
    const restoreLedger = node.disk.backUp(LEDGER);
    node.store
      .cut(writes, restoreLedger)
      .then((lost) => simulator.note(`the log of the store is cut: ${lost} writes`), onBug);
    node.release();
    this.#later(durationUs, 'repair', () => {
      if (node.store.isDamaged) this.#repair(node);
    });
  }

  async #loseRows({ rows, databases, share }: LostRows, node: SimNode): Promise<void> {
    node.hold();
    await node.losePower(share);
    const groups = await node.store.loseRows({ isAll: rows === 'all', databases });
    this.#parts.simulator.note(`rows are lost of groups ${groups.join(', ')}`);
    node.release();
  }

  async #spoilHistory({ share, durationUs }: SpoiledHistory, node: SimNode): Promise<void> {
    const { simulator } = this.#parts;
    node.hold();
    await node.losePower(share);
    const place = await node.store.spoilHistory();
    simulator.note(`a history is damaged: ${place}`);
    node.release();
    this.#later(durationUs, 'repair', () => {
      if (node.store.spoiledFiles.length > 0) this.#repair(node);
      else if (place !== undefined) simulator.note(`${node.name} has nothing left of the damaged history`);
    });
  }

  /** There is no middle segment before there are three. */
  #awaitSegments(action: LostSegment, node: SimNode, untilUs: number): void {
    const { simulator, onBug } = this.#parts;
    if (node.disk.segmentCount >= 3) this.#loseSegment(action, node).catch(onBug);
    else if (simulator.nowUs < untilUs) {
      this.#later(LOOK_US, 'look for segments', () => this.#awaitSegments(action, node, untilUs));
    }
  }

  async #loseSegment({ share, durationUs }: LostSegment, node: SimNode): Promise<void> {
    const { simulator } = this.#parts;
    node.hold();
    await node.losePower(share);
    simulator.note(`a segment is gone: ${node.disk.loseSegment()}`);
    node.release();
    this.#later(durationUs, 'repair', () => {
      if (node.disk.isDamaged) this.#repair(node);
    });
  }

  /** Restores power, and fails it again after the next process has written a little to the store. */
  #fellAgain(
    { shares: [first, second], afterWrites }: Extract<FaultAction, { readonly kind: 'again' }>,
    node: SimNode,
  ): void {
    node.crash({ kind: 'power', share: first });
    node.store.strikeAfter(afterWrites, () => {
      this.#later(0, 'power fails again', () => node.crash({ kind: 'power', share: second }));
    });
  }

  #stall({ times, durationUs, ending }: Extract<FaultAction, { readonly kind: 'stall' }>, node: SimNode): void {
    node.disk.slowness = times;
    this.#later(durationUs, 'stall ends', () => {
      if (ending === undefined) node.drain();
      else node.crash(ending);
      node.disk.slowness = 1;
    });
  }

  /** Loses a write of the log. The power fails after its clients have their answers. */
  #lose(node: SimNode, untilUs: number): void {
    const { simulator } = this.#parts;
    node.disk.arm({ mishap: 'lose', kinds: ['write'], path: '.wal', after: 0 });
    const look = (): void => {
      if (node.disk.takeLost()) {
        simulator.note('a write was lost');
        this.#later(ANSWERED_US, 'after loss', () => {
          // The store loses its copy of that write, so that only the log can reveal the loss.
          node.crash({ kind: 'power', share: 0 });
          node.disk.slowness = 1;
        });
      } else if (simulator.nowUs < untilUs) this.#later(LOOK_US, 'look for lost', look);
    };
    look();
  }

  /** The operator stops the node, restores its files and starts it again. */
  #repair(node: SimNode): void {
    const { simulator } = this.#parts;
    simulator.note('the disk is restored from a backup');
    node.hold();
    node.disk.restore();
    node.store.restore();
    node.release();
  }

  #later(delayUs: number, label: string, work: () => void): void {
    this.#parts.simulator.after(delayUs, label, () => {
      if (!this.#isOver) work();
    });
  }
}

type NetworkFault = Extract<
  FaultAction,
  { readonly kind: 'network' | 'one-way' | 'partition' | 'peer-network' | 'lane-harm' }
>;

function pause({ running }: SimNode, thread: 'front' | 'core' | 'log' | 'all', durationUs: number): void {
  if (running === undefined) return;
  const threads = thread === 'all' ? [running.front, running.core, running.log] : [running[thread]];
  for (const isolate of threads) isolate.pause(durationUs);
}

function slow(node: SimNode, times: number): void {
  node.disk.slowness = times;
  node.store.slowness = times;
}
