// Somebody who runs the cluster while it is disturbed: restarts its nodes one after the other, has a node leave and
// come back, replaces one whose volume was lost, and upgrades all to the next release. What was begun is seen through
// after the faults are over.
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { members } from '#raft';
import type { Release } from '../../support/cluster/replica-world.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { NodeProcess, OperatorOrder, OrderAnswered } from '../node/process.ts';
import { RELEASES } from '../node/releases.ts';
import type { SimNode } from '../node/sim-node.ts';

export type OperatorAction =
  /** Every node in turn ends in order, and the next one when it serves again. */
  | { readonly kind: 'rolling' }
  /** The node leaves the cluster; it is taken back after so long, if it has not gone by then. */
  | { readonly kind: 'leave'; readonly stayUs: number }
  /** The same, if another one is there to take its place: the one so many places behind it, or any. */
  | { readonly kind: 'replace'; readonly stayUs: number; readonly by: number | undefined }
  /** The node comes back with an empty volume: as a new one, which is to take the place of the old one, or any may. */
  | { readonly kind: 'wipe'; readonly isSucceeded: boolean }
  | Absence
  | Upgrade;

/** The node is down while it is removed or replaced, comes back with its data, and must end by itself. */
export interface Absence {
  readonly kind: 'absent';
  readonly stayUs: number;
  readonly isReplaced: boolean;
}

/** Every node is started with the next release, one perhaps with both; one finalize comes too early, one in time. */
export interface Upgrade {
  readonly kind: 'upgrade';
  readonly turnsBack: boolean;
  /** From one release to the next, as far as it goes. */
  readonly steps?: readonly UpgradeStep[];
}

/** One level more. Nodes are named by their places. */
export interface UpgradeStep {
  /** Before it is ended this node goes one release back, and on again. */
  readonly back: number | undefined;
  /** Somebody starts a release there that comes too early: it does not know the level of the cluster any more. */
  readonly early: number | undefined;
  /** When it is ended somebody starts the release before there, which does not know the level yet. */
  readonly late: number | undefined;
}

export function drawAbsence(random: Rng): Absence {
  return { kind: 'absent', stayUs: random.between(20, 60) * SECOND_US, isReplaced: random.chance(0.5) };
}

/** What becomes of an upgrade that was drawn. */
export function drawUpgradeSteps(random: Rng, nodeCount: number): readonly UpgradeStep[] {
  const some = (share: number): number | undefined => {
    const place = random.between(0, nodeCount - 1);
    return random.chance(share) ? place : undefined;
  };
  const count = random.chance(0.7) ? RELEASES.length - 1 : 1;
  return Array.from({ length: count }, () => ({ back: some(0.6), early: some(0.5), late: some(0.6) }));
}

type Leave = Extract<OperatorAction, { readonly kind: 'leave' | 'replace' }>;

interface OperatorParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly onBug: (failure: unknown) => void;
}

const SECOND_US = 1_000_000;
const LOOK_US = SECOND_US / 2;
const ANSWER_US_MAX = 6 * SECOND_US;
const RESTART_US_MAX = 10 * SECOND_US;
/** Whoever was removed while it was away has heard of it by then, when nothing keeps others from answering. */
const TOLD_US_MAX = 60 * SECOND_US;

export function drawOperatorAction(random: Rng): OperatorAction {
  const kind = random.pick<Exclude<OperatorAction, Absence>['kind']>([
    'rolling',
    'leave',
    'replace',
    'wipe',
    'upgrade',
    'upgrade',
  ]);
  const stayUs = random.between(1, 20) * SECOND_US;
  switch (kind) {
    case 'rolling':
      return { kind };
    case 'leave':
      return { kind, stayUs };
    case 'replace':
      return { kind, stayUs, by: random.chance(0.5) ? undefined : random.between(1, 4) };
    case 'wipe':
      return { kind, isSucceeded: random.chance(0.5) };
    case 'upgrade':
      return { kind, turnsBack: random.chance(0.5) };
  }
}

export class Operator {
  readonly #parts: OperatorParts;
  /** A second one might be lost with the last copy of something. */
  #hasWiped = false;
  #hasUpgraded = false;
  #isUpgrading = false;
  #isOver = false;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Whether the cluster is on its way from one release to the next. */
  get isUpgrading(): boolean {
    return this.#isUpgrading;
  }

  /** Begins nothing more, and takes back whoever is leaving. */
  heal(): void {
    this.#isOver = true;
  }

  do(action: OperatorAction, node: SimNode): void {
    this.#work(action, node).catch((failure: unknown) => this.#parts.onBug(failure));
  }

  async #work(action: OperatorAction, node: SimNode): Promise<void> {
    switch (action.kind) {
      case 'rolling':
        return this.#roll();
      case 'leave':
      case 'replace':
        return this.#leave(action, node);
      case 'wipe':
        return this.#wipe(action, node);
      case 'absent':
        return this.#absent(action, node);
      case 'upgrade':
        return this.#upgrade(action);
    }
  }

  async #roll(): Promise<void> {
    const { simulator, nodes } = this.#parts;
    for (const node of nodes) {
      if (this.#isOver) return;
      node.drain();
      const limitUs = simulator.nowUs + RESTART_US_MAX;
      do await this.#sleep();
      while (!node.isServing && simulator.nowUs < limitUs);
    }
  }

  async #leave(action: Leave, node: SimNode): Promise<void> {
    const id = node.process?.node?.identity.node;
    if (id === undefined) return;
    node.leaves();
    // Whoever was not answered does not know what became of the order, and goes on to look after the node.
    if ((await this.#see(this.#leaving(action, node, id), () => this.#isOver)) === 'refused') return;
    const untilUs = this.#parts.simulator.nowUs + action.stayUs;
    for (let isBack = false; !isBack && !this.#isRemoved(id); ) {
      if (this.#isOver || this.#parts.simulator.nowUs >= untilUs) {
        const seen = await this.#see({ kind: 'recommission', node: id }, () => this.#isRemoved(id));
        isBack = seen === 'done';
      }
      await this.#sleep();
    }
    if (this.#isRemoved(id)) this.#empty(node);
  }

  #leaving(action: Leave, node: SimNode, id: NodeId): OperatorOrder {
    if (action.kind === 'leave') return { kind: 'decommission', node: id };
    const { nodes } = this.#parts;
    const next = action.by === undefined ? undefined : nodes[(nodes.indexOf(node) + action.by) % nodes.length];
    return { kind: 'replace', node: id, by: next?.process?.node?.identity.node };
  }

  async #wipe({ isSucceeded }: Extract<OperatorAction, { readonly kind: 'wipe' }>, node: SimNode): Promise<void> {
    const id = node.process?.node?.identity.node;
    if (id === undefined || this.#hasWiped || !this.#canLose(id)) return;
    this.#hasWiped = true;
    this.#empty(node);
    const by = isSucceeded ? await this.#joined(node) : undefined;
    const order: OperatorOrder = isSucceeded ? { kind: 'replace', node: id, by } : { kind: 'decommission', node: id };
    // Who was to take its place may have had to leave meanwhile.
    const isLost = (): boolean => by !== undefined && this.#isRemoved(by);
    const seen = await this.#see(order, isLost, { insists: true });
    if (seen !== 'done') await this.#see({ kind: 'decommission', node: id }, () => false, { insists: true });
  }

  async #absent({ stayUs, isReplaced }: Absence, node: SimNode): Promise<void> {
    const id = node.process?.node?.identity.node;
    if (id === undefined) return;
    const untilUs = this.#parts.simulator.nowUs + stayUs;
    const isLate = (): boolean => this.#isOver || this.#parts.simulator.nowUs >= untilUs;
    while (!this.#canLose(id) && !isLate()) await this.#sleep();
    if (this.#hasWiped || isLate()) return;
    // Until it is back the others have one copy less of everything.
    this.#hasWiped = true;
    node.leaves();
    node.hold();
    const leave: OperatorAction = isReplaced ? { kind: 'replace', stayUs, by: undefined } : { kind: 'leave', stayUs };
    await this.#see(this.#leaving(leave, node, id), isLate, { insists: true });
    while (!this.#isRemoved(id) && !isLate()) await this.#sleep();
    if (!this.#isRemoved(id)) {
      node.release();
      await this.#see({ kind: 'recommission', node: id }, () => this.#isRemoved(id));
      // What removes it may have been on its way.
      if (this.#isRemoved(id)) this.#empty(node);
      return;
    }
    await this.#staysAway(node, id);
    this.#empty(node);
  }

  /** It comes back, is told, and is told at once when it is started again. */
  async #staysAway(node: SimNode, id: NodeId): Promise<void> {
    const { simulator, onBug } = this.#parts;
    const told = node.removals;
    simulator.note(`operator: ${node.name} comes back, and is node ${id} no more`);
    node.release();
    const isTold = (): boolean => node.removals >= told + 2;
    while (!isTold() && !this.#isOver) await this.#sleep();
    const limitUs = simulator.nowUs + TOLD_US_MAX;
    while (!isTold() && simulator.nowUs < limitUs) await this.#sleep();
    if (isTold()) simulator.note(`operator: ${node.name} stays away`);
    else onBug(`${node.name} was removed while it was away, and does not end`);
  }

  /** Who the node is, once it serves. */
  async #joined(node: SimNode): Promise<NodeId | undefined> {
    while (node.process === undefined) await this.#sleep();
    return node.process.node?.identity.node;
  }

  async #upgrade({ turnsBack, steps = [] }: Upgrade): Promise<void> {
    if (this.#hasUpgraded) return;
    this.#hasUpgraded = true;
    this.#isUpgrading = true;
    for (const [at, step] of steps.entries()) {
      const [before, release, after] = RELEASES.slice(at);
      if (before === undefined || release === undefined) break;
      await this.#upgradeTo(release, before, { turnsBack: turnsBack && at === 0 });
      const { nodes } = this.#parts;
      const node = (place: number | undefined): SimNode | undefined => (place === undefined ? undefined : nodes[place]);
      const [back, early, late] = [node(step.back), node(step.early), node(step.late)];
      if (back !== undefined) await this.#turnBack(back, before, release);
      if (early !== undefined && after !== undefined) await this.#mistake(early, after, release);
      await this.#see({ kind: 'finalize' }, () => false, { insists: true, least: release.levels.max });
      await this.#untilAt(release.levels.max, nodes);
      if (late !== undefined) await this.#mistake(late, before, release);
    }
    this.#isUpgrading = false;
  }

  async #upgradeTo(release: Release, before: Release, { turnsBack }: { readonly turnsBack: boolean }): Promise<void> {
    for (const [place, node] of this.#parts.nodes.entries()) {
      await this.#advance(node, before, release);
      if (turnsBack && place === 0) {
        await this.#restartAs(node, before);
        await this.#advance(node, before, release);
      }
      if (place === 0) await this.#order({ kind: 'finalize' });
    }
  }

  /** One release back, which the cluster must wait for as soon as it knows of it, and on again. */
  async #turnBack(node: SimNode, before: Release, release: Release): Promise<void> {
    // Who did not know that it was advanced does not know that it is back either: what it said when it was may come
    // between, and end the upgrade (seed 92053 with lanes).
    const wasKnown = this.#isKnownToRun(node, release);
    await this.#restartAs(node, before);
    const answer = this.#isKnownToRun(node, before) ? await this.#order({ kind: 'finalize' }) : undefined;
    if (wasKnown && isRaised(answer, release.levels.max)) {
      this.#parts.onBug(`an upgrade is ended while ${node.name} is known to run the release before`);
    }
    await this.#advance(node, before, release);
  }

  /** Starts the next release, or the one before it for a node that lacks the last raise of the level. */
  async #advance(node: SimNode, before: Release, release: Release): Promise<void> {
    for (;;) {
      const { refusals } = node;
      await this.#restartAs(node, release, { isMistaken: release.levels.min > before.levels.min });
      if (node.refusals === refusals) return;
      await this.#restartAs(node, before);
      await this.#untilAt(before.levels.max, [node]);
    }
  }

  /** Waits until these nodes know that the cluster is at the level, or for a while. */
  async #untilAt(level: number, nodes: readonly SimNode[]): Promise<void> {
    const { simulator } = this.#parts;
    const limitUs = simulator.nowUs + RESTART_US_MAX;
    const isAt = ({ process }: SimNode): boolean => (process?.node?.catalog.level ?? 0) >= level;
    while (!nodes.every(isAt) && simulator.nowUs < limitUs) await this.#sleep();
  }

  /** As every node has it from the catalog; some may be behind. */
  #isKnownToRun(node: SimNode, { levels }: Release): boolean {
    const id = node.process?.node?.identity.node;
    return this.#parts.nodes.every(({ process }) =>
      process?.node?.catalog.nodes().some((each) => each.node === id && each.levels.max === levels.max),
    );
  }

  /** Somebody takes the wrong release for a node, until it has said why it cannot run there, or for a while. */
  async #mistake(node: SimNode, wrong: Release, right: Release): Promise<void> {
    const { simulator } = this.#parts;
    const { refusals } = node;
    node.runs(wrong, { isMistaken: true });
    const limitUs = simulator.nowUs + RESTART_US_MAX;
    do await this.#sleep();
    while (node.refusals === refusals && simulator.nowUs < limitUs);
    await this.#restartAs(node, right);
  }

  async #restartAs(node: SimNode, release: Release, how: { readonly isMistaken?: boolean } = {}): Promise<void> {
    const { simulator } = this.#parts;
    node.runs(release, how);
    const limitUs = simulator.nowUs + RESTART_US_MAX;
    do await this.#sleep();
    while (!(node.isServing && node.running?.release === release) && simulator.nowUs < limitUs);
    if (node.running !== undefined && node.running.release !== release) node.crash({ kind: 'process' });
  }

  #empty(node: SimNode): void {
    node.wipe(this.#parts.nodes.filter((each) => each !== node).map(({ name }) => name));
  }

  /** Repeats an order until it is carried out, or refused for good, or of no use any more: it is open then. */
  async #see(
    order: OperatorOrder,
    isPointless: () => boolean,
    { insists = false, least = 0 }: { readonly insists?: boolean; readonly least?: number } = {},
  ): Promise<'done' | 'refused' | 'open'> {
    const { simulator } = this.#parts;
    const what = order.kind === 'finalize' ? order.kind : `${order.kind} ${order.node}`;
    for (let answer = await this.#order(order); ; answer = await this.#order(order)) {
      if (answer?.kind === 'done' || isRaised(answer, least)) {
        simulator.note(`operator: ${what} is done`);
        return 'done';
      }
      if (answer?.kind === 'faulty') {
        const { reason } = answer;
        simulator.note(`operator: ${what} is refused`, () => `operator: ${what} is refused: ${reason}`);
        if (!insists) return 'refused';
      }
      if (isPointless()) return 'open';
      await this.#sleep();
    }
  }

  /** What the node that leads the catalog says; undefined when nobody does. */
  async #order(order: OperatorOrder): Promise<OrderAnswered | undefined> {
    for (const { process } of this.#parts.nodes) {
      const answer = process === undefined ? undefined : await this.#ask(process, order);
      if (answer?.kind === 'done' || answer?.kind === 'finalized' || answer?.kind === 'faulty') return answer;
    }
    return undefined;
  }

  async #ask(process: NodeProcess, order: OperatorOrder): Promise<OrderAnswered | undefined> {
    return new Promise((resolve) => {
      process.order(order, resolve);
      this.#parts.simulator.after(ANSWER_US_MAX, 'operator waits no longer', () => resolve(undefined));
    });
  }

  /** Whether every group has a quorum, and replicas with everything acknowledged, without the node. */
  #canLose(node: NodeId): boolean {
    const { nodes } = this.#parts;
    const processes = nodes.map(({ process }) => process);
    if (processes.some((process) => process === undefined)) return false;
    // Of two one has been followed by the other, and may not know of the latest database.
    const leaderOf = (group: GroupId): NodeProcess | undefined => {
      const [leader, ...others] = processes.filter((each) => each?.leads(group) === true);
      return others.length === 0 ? leader : undefined;
    };
    const bindings = leaderOf(CATALOG_GROUP)?.node?.catalog.list();
    if (bindings === undefined || bindings.some(({ leaving }) => leaving.length > 0)) return false;
    return [CATALOG_GROUP, ...bindings.map(({ group }) => group)].every((group) => {
      const membership = leaderOf(group)?.membershipOf(group);
      if (membership === undefined || membership.voters.outgoing.length > 0) return false;
      const voters = members(membership.voters);
      return voters.length >= 3 || !voters.some((voter) => nodeOf(voter) === node);
    });
  }

  /** As some node that is up has it. */
  #isRemoved(id: NodeId): boolean {
    return this.#parts.nodes.some(({ process }) =>
      process?.node?.catalog.nodes().some(({ node, state }) => node === id && state === 'removed'),
    );
  }

  async #sleep(): Promise<void> {
    await this.#parts.simulator.sleep(LOOK_US, 'operator looks');
  }
}

/** Of a cluster that has not heard of the next release nothing is left to raise at the level that it is at. */
function isRaised(answer: OrderAnswered | undefined, least: number): boolean {
  return answer?.kind === 'finalized' && answer.level >= least;
}
