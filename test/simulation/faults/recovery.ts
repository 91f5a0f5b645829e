// A fault with recovery: two of the three voters of a database are given up, and the database continues with the third
// (ADR 0045). The two are kept down until the catalog has accepted the recovery, or for a limited time, and return with
// their data.
//
// For clients, and in the history, it is a delete of one instance and a creation of the next under the same name.
import { CATALOG_GROUP, nodeOf } from '#base';
import type { Binding, HeldCopy } from '#cluster';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { Calls, History, Operation } from '../history.ts';
import type { RecoveryAnswered } from '../node/process.ts';
import type { Ending, SimNode } from '../node/sim-node.ts';

export interface Recovery {
  readonly kind: 'recover';
  /** Index among the databases with three voters, and index of the survivor among those three. */
  readonly database: number;
  readonly survivor: number;
  /** End of the other nodes. */
  readonly ending: Ending;
  readonly awayUsMax: number;
}

export interface RecovererParts {
  readonly simulator: Simulator;
  readonly nodes: readonly SimNode[];
  readonly history: History;
  readonly onBug: (failure: unknown) => void;
}

interface Written {
  readonly deletion: Operation<'delete'>;
  readonly creation: Operation<'create'>;
}

const SECOND_US = 1_000_000;
const LOOK_US = SECOND_US / 2;
const ANSWER_US_MAX = 20 * SECOND_US;
const HOLDERS = 3;
const CLIENT = 'recoverer';

export function drawRecovery(random: Rng): Recovery {
  const ending: Ending = random.chance(0.5) ? { kind: 'process' } : { kind: 'power', share: random.pick([0, 0.5, 1]) };
  const places = { database: random.between(0, 9), survivor: random.between(0, HOLDERS - 1) };
  return { kind: 'recover', ...places, ending, awayUsMax: random.between(15, 60) * SECOND_US };
}

export class Recoverer {
  readonly #parts: RecovererParts;
  readonly #away = new Set<SimNode>();
  #isOver = false;

  constructor(parts: RecovererParts) {
    this.#parts = parts;
  }

  /** Restarts the nodes that are down. */
  heal(): void {
    this.#isOver = true;
    this.#release();
  }

  do(action: Recovery): void {
    this.#recover(action).catch((failure: unknown) => this.#parts.onBug(failure));
  }

  async #recover({ database, survivor, ending, awayUsMax }: Recovery): Promise<void> {
    const { simulator } = this.#parts;
    const bindings = (await this.#heldByThree()) ?? [];
    const binding = bindings[database % Math.max(1, bindings.length)];
    // This recovery might need nodes that are down for another one.
    if (binding === undefined || this.#isOver || this.#away.size > 0) return;
    const holders = this.#votersOf(binding);
    const left = holders[survivor % HOLDERS];
    for (const node of holders) {
      if (node === left) continue;
      this.#away.add(node);
      node.crash(ending);
      node.hold();
    }
    if (left !== undefined) await this.#goOn(binding, left, simulator.nowUs + awayUsMax);
    this.#release();
  }

  /** Repeats the request until it has taken effect or is obsolete. */
  async #goOn({ name, databaseId }: Binding, left: SimNode, untilUs: number): Promise<void> {
    const { simulator, history } = this.#parts;
    let written: Written | undefined;
    while (!this.#isOver && simulator.nowUs < untilUs) {
      await simulator.sleep(LOOK_US, `${CLIENT} looks`);
      const copies = await this.#copiesOf(name);
      const from = left.process?.node?.identity.node;
      const copy = copies.find(({ replica }) => nodeOf(replica) === from);
      const leader = this.#parts.nodes.find(({ process }) => process?.leads(CATALOG_GROUP) === true)?.process;
      if (from === undefined || copy === undefined || leader === undefined) continue;
      const bound = leader.node?.catalog.lookup(name);
      // A client has deleted it.
      if (bound?.databaseId !== databaseId && bound?.recovery?.databaseId !== databaseId) return;
      written ??= this.#write(name, databaseId);
      const order = { kind: 'recover', name, from, acceptRevision: copy.revision, copies } as const;
      const answer = await this.#within<RecoveryAnswered>((resolve) => leader.recover(order, resolve));
      if (answer?.kind === 'faulty') simulator.note(`recovery of ${name} is refused`, () => answer.reason);
      if (answer?.kind !== 'recovered') continue;
      const { before, databaseId: next, revision } = answer.database;
      simulator.note(`recovery of ${name} is done at revision ${revision}: ${next}`);
      end(written.deletion, { databaseId: before }, simulator.nowUs);
      end(written.creation, { databaseId: next, revision: 0, createdAtMs: 0 }, simulator.nowUs);
      history.recoveries.push({ before, databaseId: next, revision });
      return;
    }
  }

  /** Adds both operations to the history as unanswered: from now on they may take effect. */
  #write(name: string, databaseId: string): Written {
    const { history, simulator } = this.#parts;
    const deletion = history.begin(CLIENT, 'delete', { name, databaseId }, simulator.nowUs);
    return { deletion, creation: history.begin(CLIENT, 'create', { name }, simulator.nowUs) };
  }

  /** Databases with three voters; undefined when there are none for a while. */
  async #heldByThree(): Promise<readonly Binding[] | undefined> {
    const { simulator, nodes } = this.#parts;
    const limitUs = simulator.nowUs + ANSWER_US_MAX;
    while (!this.#isOver && simulator.nowUs < limitUs) {
      const leader = nodes.find(({ process }) => process?.leads(CATALOG_GROUP) === true)?.process?.node;
      const held = leader?.catalog.list().filter((each) => this.#votersOf(each).length === HOLDERS) ?? [];
      if (held.length > 0) return held;
      await simulator.sleep(LOOK_US, `${CLIENT} looks`);
    }
    return undefined;
  }

  /** Voters of the database according to its leader, if all are up and none is being removed. */
  #votersOf({ group }: Binding): readonly SimNode[] {
    const { nodes } = this.#parts;
    const leader = nodes.find(({ process }) => process?.leads(group) === true)?.process;
    const voters = leader?.membershipOf(group)?.voters;
    if (voters === undefined || voters.outgoing.length > 0) return [];
    const ids = voters.incoming.map(nodeOf);
    const up = nodes.filter(({ process }) => ids.some((id) => id === process?.node?.identity.node));
    return up.length === ids.length ? up : [];
  }

  /** Replicas that the running nodes report. */
  async #copiesOf(name: string): Promise<readonly HeldCopy[]> {
    const copies: HeldCopy[] = [];
    for (const { process } of this.#parts.nodes) {
      const copy = process && (await this.#within<HeldCopy | undefined>((resolve) => process.copyOf(name, resolve)));
      if (copy !== undefined) copies.push(copy);
    }
    return copies;
  }

  #within<Value>(ask: (resolve: (value: Value | undefined) => void) => void): Promise<Value | undefined> {
    return new Promise((resolve) => {
      ask(resolve);
      this.#parts.simulator.after(ANSWER_US_MAX, `${CLIENT} waits no longer`, () => resolve(undefined));
    });
  }

  #release(): void {
    for (const node of this.#away) node.release();
    this.#away.clear();
  }
}

function end<Kind extends 'delete' | 'create'>(
  operation: Operation<Kind>,
  value: Calls[Kind]['value'],
  nowUs: number,
): void {
  operation.outcome = { kind: 'ok', value };
  operation.returnedUs = nowUs;
}
