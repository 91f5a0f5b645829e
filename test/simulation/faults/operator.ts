/**
 * Somebody who runs the cluster while it is disturbed: restarts its nodes one after the other, has a node leave and come
 * back, and replaces one whose volume was lost. What was begun is seen through after the faults are over.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import type { NodeOrder } from '#cluster';
import { members } from '#raft';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { NodeProcess, OrderAnswered } from '../node/process.ts';
import type { SimNode } from '../node/sim-node.ts';

export type OperatorAction =
  /** Every node in turn ends in order, and the next one when it serves again. */
  | { readonly kind: 'rolling' }
  /** The node leaves the cluster; it is taken back after so long, if it has not gone by then. */
  | { readonly kind: 'leave'; readonly stayUs: number }
  /** The node comes back with an empty volume: as a new one, and the old one is to leave. */
  | { readonly kind: 'wipe' };

interface OperatorParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly onBug: (failure: unknown) => void;
}

const SECOND_US = 1_000_000;
const LOOK_US = SECOND_US / 2;
const ANSWER_US_MAX = 6 * SECOND_US;
const RESTART_US_MAX = 10 * SECOND_US;

export function drawOperatorAction(random: Rng): OperatorAction {
  const kind = random.pick<OperatorAction['kind']>(['rolling', 'leave', 'wipe']);
  return kind === 'leave' ? { kind, stayUs: random.between(1, 20) * SECOND_US } : { kind };
}

export class Operator {
  readonly #parts: OperatorParts;
  /** A second one might be lost with the last copy of something. */
  #hasWiped = false;
  #isOver = false;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Begins nothing more, and takes back whoever is leaving. */
  heal(): void {
    this.#isOver = true;
  }

  do(action: OperatorAction, node: SimNode): void {
    const work = { rolling: () => this.#roll(), leave: () => this.#leave(action, node), wipe: () => this.#wipe(node) };
    work[action.kind]().catch((failure: unknown) => this.#parts.onBug(failure));
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

  async #leave(action: OperatorAction, node: SimNode): Promise<void> {
    const id = node.process?.node?.identity.node;
    if (id === undefined || action.kind !== 'leave') return;
    node.leaves();
    if (!(await this.#see({ kind: 'decommission', node: id }, () => this.#isOver))) return;
    const untilUs = this.#parts.simulator.nowUs + action.stayUs;
    for (let isBack = false; !isBack && !this.#isRemoved(id); ) {
      if (this.#isOver || this.#parts.simulator.nowUs >= untilUs) {
        isBack = await this.#see({ kind: 'recommission', node: id }, () => this.#isRemoved(id));
      }
      await this.#sleep();
    }
    if (this.#isRemoved(id)) this.#empty(node);
  }

  async #wipe(node: SimNode): Promise<void> {
    const id = node.process?.node?.identity.node;
    if (id === undefined || this.#hasWiped || !this.#canLose(id)) return;
    this.#hasWiped = true;
    this.#empty(node);
    await this.#see({ kind: 'decommission', node: id }, () => false, true);
  }

  #empty(node: SimNode): void {
    node.wipe(this.#parts.nodes.filter((each) => each !== node).map(({ name }) => name));
  }

  /** Repeats an order until it is carried out; false when it is refused for good, or it is of no use any more. */
  async #see(order: NodeOrder, isPointless: () => boolean, insists = false): Promise<boolean> {
    const { simulator } = this.#parts;
    for (let answer = await this.#order(order); ; answer = await this.#order(order)) {
      if (answer?.kind === 'done') {
        simulator.note(`operator: ${order.kind} ${order.node} is done`);
        return true;
      }
      if (answer?.kind === 'faulty') {
        const { reason } = answer;
        simulator.note(
          `operator: ${order.kind} ${order.node} is refused`,
          () => `operator: ${order.kind} ${order.node} is refused: ${reason}`,
        );
        if (!insists) return false;
      }
      if (isPointless()) return false;
      await this.#sleep();
    }
  }

  /** What the node that leads the catalog says; undefined when nobody does. */
  async #order(order: NodeOrder): Promise<OrderAnswered | undefined> {
    for (const { process } of this.#parts.nodes) {
      const answer = process === undefined ? undefined : await this.#ask(process, order);
      if (answer?.kind === 'done' || answer?.kind === 'faulty') return answer;
    }
    return undefined;
  }

  async #ask(process: NodeProcess, order: NodeOrder): Promise<OrderAnswered | undefined> {
    return new Promise((resolve) => {
      process.order(order, resolve);
      this.#parts.simulator.after(ANSWER_US_MAX, 'operator waits no longer', () => resolve(undefined));
    });
  }

  /** Whether every group can go on without the node, and has enough other copies to have everything that it has acknowledged. */
  #canLose(node: NodeId): boolean {
    const { nodes } = this.#parts;
    const processes = nodes.map(({ process }) => process);
    if (processes.some((process) => process === undefined)) return false;
    const leaderOf = (group: GroupId): NodeProcess | undefined => processes.find((each) => each?.leads(group));
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
