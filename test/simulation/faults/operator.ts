// The operator of the cluster, who works while faults happen: restarts the nodes one after the other, lets a node leave
// and return, replaces a node with a lost volume, and upgrades all nodes to the next release. Started work is completed
// even after the end of the faults.
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { members } from '#raft';
import type { Release } from '../../support/cluster/replica-world.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { NodeProcess, OperatorOrder, OrderAnswered } from '../node/process.ts';
import { RELEASES } from '../node/releases.ts';
import type { SimNode } from '../node/sim-node.ts';

export type OperatorAction =
  /** Every node in turn drains and restarts; the next one follows when it serves again. */
  | { readonly kind: 'rolling' }
  /** Decommissions the node; recommissions it after `stayUs` if it has not left by then. */
  | { readonly kind: 'leave'; readonly stayUs: number }
  /** The same with a replacement, if available: the node `by` positions further on, or any. */
  | { readonly kind: 'replace'; readonly stayUs: number; readonly by: number | undefined }
  /** The node restarts with an empty volume, as a new node: it replaces the old one, or any node may. */
  | { readonly kind: 'wipe'; readonly isSucceeded: boolean }
  | Absence
  | Upgrade;

/** The node is down while it is removed or replaced. It returns with its data and must exit by itself. */
export interface Absence {
  readonly kind: 'absent';
  readonly stayUs: number;
  readonly isReplaced: boolean;
}

/** How a node is restarted with a release. */
interface Restarting {
  /** The cluster may have a level that the release does not know. */
  readonly isMistaken?: boolean;
}

/**
 * Every node is restarted with the next release, one possibly with both; one finalize is too early and one is in time.
 */
export interface Upgrade {
  readonly kind: 'upgrade';
  readonly turnsBack: boolean;
  /** The steps from release to release. */
  readonly steps?: readonly UpgradeStep[];
}

/** One level more. Nodes are named by their index. */
export interface UpgradeStep {
  /** Before the finalize, this node returns to the previous release and upgrades again. */
  readonly back: number | undefined;
  /** A release is started on this node that is too new: it does not know the cluster's level any more. */
  readonly early: number | undefined;
  /** After the finalize, the previous release is started on this node; it does not know the new level. */
  readonly late: number | undefined;
}

export function drawAbsence(random: Rng): Absence {
  return { kind: 'absent', stayUs: random.between(20, 60) * SECOND_US, isReplaced: random.chance(0.5) };
}

/** Draws the steps of an upgrade. */
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
/** Time after which a node that was removed while it was down has learned so, if others can answer. */
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
  /** A second wiped node might have the last replica of something. */
  #hasWiped = false;
  #hasUpgraded = false;
  #isUpgrading = false;
  #isOver = false;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** True while the cluster is between two releases. */
  get isUpgrading(): boolean {
    return this.#isUpgrading;
  }

  /** Starts nothing more, and takes back leaving nodes. */
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
    // Without an answer, the outcome of the request is unknown, so the operator keeps watching the node.
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
    // The replacement may have had to leave meanwhile.
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
    // Until it returns, the others have one replica less of everything.
    this.#hasWiped = true;
    node.leaves();
    node.hold();
    const leave: OperatorAction = isReplaced ? { kind: 'replace', stayUs, by: undefined } : { kind: 'leave', stayUs };
    await this.#see(this.#leaving(leave, node, id), isLate, { insists: true });
    while (!this.#isRemoved(id) && !isLate()) await this.#sleep();
    if (!this.#isRemoved(id)) {
      node.release();
      await this.#see({ kind: 'recommission', node: id }, () => this.#isRemoved(id));
      // The removal may already have been in progress.
      if (this.#isRemoved(id)) this.#empty(node);
      return;
    }
    await this.#staysAway(node, id);
    this.#empty(node);
  }

  /** The node returns, learns of its removal, and learns it again at once after a restart. */
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

  /** The id of the node, once it serves. */
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

  /**
   * Returns a node to the previous release, which the cluster must wait for once it knows of it, and upgrades it again.
   */
  async #turnBack(node: SimNode, before: Release, release: Release): Promise<void> {
    // A cluster that did not know of the upgrade does not know of the return either: an old message about the upgrade
    // may arrive in between and complete the upgrade, which the node then does not know (seeds 92053 with lanes, 216).
    const wasKnown = this.#isKnownToRun(node, release);
    const how = { isMistaken: !wasKnown };
    await this.#restartAs(node, before, how);
    const answer = this.#isKnownToRun(node, before) ? await this.#order({ kind: 'finalize' }) : undefined;
    if (wasKnown && isRaised(answer, release.levels.max)) {
      this.#parts.onBug(`an upgrade is ended while ${node.name} is known to run the release before`);
    }
    await this.#advance(node, before, release, how);
  }

  /** Starts the next release, or the previous one for a node that lacks the last raise of the level. */
  async #advance(node: SimNode, before: Release, release: Release, how: Restarting = {}): Promise<void> {
    for (;;) {
      const { refusals } = node;
      await this.#restartAs(node, release, { isMistaken: release.levels.min > before.levels.min });
      if (node.refusals === refusals) return;
      await this.#restartAs(node, before, how);
      await this.#untilAt(before.levels.max, [node]);
    }
  }

  /** Waits until these nodes know that the cluster is at the level, up to a limit. */
  async #untilAt(level: number, nodes: readonly SimNode[]): Promise<void> {
    const { simulator } = this.#parts;
    const limitUs = simulator.nowUs + RESTART_US_MAX;
    const isAt = ({ process }: SimNode): boolean => (process?.node?.catalog.level ?? 0) >= level;
    while (!nodes.every(isAt) && simulator.nowUs < limitUs) await this.#sleep();
  }

  /** True when every node's catalog has this release for the node; some catalogs may lag. */
  #isKnownToRun(node: SimNode, { levels }: Release): boolean {
    const id = node.process?.node?.identity.node;
    return this.#parts.nodes.every(({ process }) =>
      process?.node?.catalog.nodes().some((each) => each.node === id && each.levels.max === levels.max),
    );
  }

  /** Starts a wrong release on a node until it reports why it cannot run there, up to a limit. */
  async #mistake(node: SimNode, wrong: Release, right: Release): Promise<void> {
    const { simulator } = this.#parts;
    const { refusals } = node;
    node.runs(wrong, { isMistaken: true });
    const limitUs = simulator.nowUs + RESTART_US_MAX;
    do await this.#sleep();
    while (node.refusals === refusals && simulator.nowUs < limitUs);
    await this.#restartAs(node, right);
  }

  async #restartAs(node: SimNode, release: Release, how: Restarting = {}): Promise<void> {
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

  /**
   * Repeats an admin request until it succeeds, is refused permanently, or becomes pointless; the outcome is then open.
   */
  async #see(
    order: OperatorOrder,
    isPointless: () => boolean,
    { insists = false, least = 0 }: { readonly insists?: boolean; readonly least?: number } = {},
  ): Promise<'done' | 'refused' | 'open'> {
    const { simulator } = this.#parts;
    const what = 'node' in order ? `${order.kind} ${order.node}` : order.kind;
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

  /** The answer of the catalog leader; undefined without a leader. */
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

  /** True when, without the node, every group has a quorum and replicas with everything acknowledged. */
  #canLose(node: NodeId): boolean {
    const { nodes } = this.#parts;
    const processes = nodes.map(({ process }) => process);
    if (processes.some((process) => process === undefined)) return false;
    // When two nodes consider themselves leader, one is outdated and may not know of the latest database.
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

  /** True when any running node knows of the removal. */
  #isRemoved(id: NodeId): boolean {
    return this.#parts.nodes.some(({ process }) =>
      process?.node?.catalog.nodes().some(({ node, state }) => node === id && state === 'removed'),
    );
  }

  async #sleep(): Promise<void> {
    await this.#parts.simulator.sleep(LOOK_US, 'operator looks');
  }
}

/** In a cluster that does not know of the next release yet, there is nothing to raise at its current level. */
function isRaised(answer: OrderAnswered | undefined, least: number): boolean {
  return answer?.kind === 'finalized' && answer.level >= least;
}
