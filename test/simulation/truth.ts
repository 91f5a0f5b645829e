/**
 * The truth, read out when everything is whole again: every database takes a write, every copy of it on every node says
 * the same, every subscriber gets everything, and after a power failure at rest it all is as it was.
 */

import type { FinalDatabase } from './checks/evidence.ts';
import { DatabaseModel, isAfter } from './checks/model.ts';
import { expectedBehind } from './checks/subscriptions.ts';
import type { SimCluster } from './cluster.ts';
import type { Simulator } from './engine/simulator.ts';
import type { CallKind, Calls, History } from './history.ts';
import type { SimNode } from './node/sim-node.ts';
import type { Connection } from './workload/connection.ts';
import type { Follower } from './workload/follower.ts';
import { Sketches } from './workload/sketches.ts';

export interface TruthParts {
  readonly simulator: Simulator;
  readonly cluster: SimCluster;
  readonly history: History;
  readonly followers: readonly Follower[];
  readonly reader: Connection;
  readonly onProblem: (what: string) => void;
  /** Subscribers may go. */
  readonly onHeard: () => void;
}

type Final = Omit<FinalDatabase, 'followers'>;

const SECOND_US = 1_000_000;
/** A write or a read on a node that serves is answered within so many attempts; with several, after an election. */
const ATTEMPTS_MAX = 3;
const CLUSTER_ATTEMPTS_MAX = 15;
/** Moves that were asked for come to their end. */
const SETTLED_US_MAX = 60 * SECOND_US;

export class Truth {
  readonly #parts: TruthParts;

  constructor(parts: TruthParts) {
    this.#parts = parts;
  }

  /** Writes to every database, reads all of them, lets subscribers catch up, and reads them again after a power failure. */
  async read(): Promise<readonly FinalDatabase[]> {
    const { simulator, cluster, reader, onProblem, onHeard } = this.#parts;
    const sketches = new Sketches(simulator.random('last words'));
    for (const { name } of await this.#must('list', {})) {
      const request = {
        name,
        transactionId: sketches.transactionId(),
        constraints: [],
        events: sketches.events('reader'),
      };
      await this.#must('transact', request);
    }
    await this.#settle();
    const before = await this.#readAll();
    const waitUntilUs = simulator.nowUs + 5 * SECOND_US;
    while (this.#laggards(before).length > 0 && simulator.nowUs < waitUntilUs) await reader.sleep(100_000);
    const laggards = this.#laggards(before);
    onHeard();
    for (const node of cluster.nodes) node.crash({ kind: 'power', share: 0 });
    while (!cluster.nodes.every(({ isUp }) => isUp)) await reader.sleep(50_000);
    const after = await this.#readAll();
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      onProblem('after a power failure at rest the databases are not what they were');
    }
    return after.map((final) => ({
      ...final,
      followers: laggards.filter(({ databaseId }) => databaseId === final.databaseId),
    }));
  }

  async #settle(): Promise<void> {
    const { simulator, cluster, reader, onProblem } = this.#parts;
    const limitUs = simulator.nowUs + SETTLED_US_MAX;
    while (!cluster.isSettled && simulator.nowUs < limitUs) await reader.sleep(100_000);
    if (!cluster.isSettled) onProblem('the nodes do not come to one catalog without moves under way');
  }

  async #readAll(): Promise<readonly Final[]> {
    const { cluster, reader } = this.#parts;
    const finals: Final[] = [];
    for (const { name } of await this.#must('list', {})) {
      const [first, ...others] = cluster.holders(name);
      if (first === undefined) throw new Error(`No node holds ${name}`);
      const final = await this.#readOne(name, first);
      finals.push(final);
      for (const node of others) this.#compare(final, await this.#readOne(name, node), node);
    }
    reader.turnTo(cluster.nodes[0]);
    return finals;
  }

  async #readOne(name: string, node: SimNode): Promise<Final> {
    const { createdAtMs } = await this.#must('describe', { name, at: 'latest' }, node);
    const log = await this.#must('log', { name, start: 0, direction: 'forward', limit: 0 }, node);
    const { databaseId, revision, transactions } = log;
    const { chainHash } = await this.#must('describe', { name, at: revision }, node);
    return { name, databaseId, revision, chainHash, createdAtMs, transactions };
  }

  /** Check 1 and 13 look at one copy; the others are the same. */
  #compare(final: Final, other: Final, { name }: SimNode): void {
    if (JSON.stringify(final) === JSON.stringify(other)) return;
    const { chainHash, revision } = other;
    this.#parts.onProblem(
      `check 1: ${name} has another ${final.name}: ${chainHash} at ${revision}, not ${final.chainHash} at ${final.revision}`,
    );
  }

  /** On nodes that nobody disturbs every call succeeds, at the latest after a few attempts. */
  async #must<Kind extends CallKind>(
    kind: Kind,
    request: Calls[Kind]['request'],
    node?: SimNode,
  ): Promise<Calls[Kind]['value']> {
    const { reader, cluster } = this.#parts;
    const attempts = cluster.nodes.length > 1 ? CLUSTER_ATTEMPTS_MAX : ATTEMPTS_MAX;
    for (let attempt = 1; ; attempt += 1) {
      if (node !== undefined) reader.turnTo(node);
      const { outcome } = await reader.call(kind, request);
      if (outcome.kind === 'ok') return outcome.value;
      const where = node === undefined ? '' : ` on ${node.name}`;
      if (attempt === attempts) throw new Error(`A healed node fails to ${kind}${where}: ${JSON.stringify(outcome)}`);
      await reader.sleep(SECOND_US);
    }
  }

  /** Subscribers of living instances that have not got all of them. */
  #laggards(
    finals: readonly Final[],
  ): readonly { readonly databaseId: string; readonly client: string; readonly number: number }[] {
    const { followers, history } = this.#parts;
    return followers.flatMap(({ client, name, selector, place }) => {
      const final = finals.find((each) => each.name === name);
      if (final === undefined) return [];
      const { databaseId, transactions, revision } = final;
      const isSame = place?.databaseId === databaseId;
      const after = isSame ? place.after : { revision: 0, index: 0 };
      const events = new DatabaseModel(transactions).events(revision);
      const isMissing = expectedBehind(events, { selector, after }).some((event) => isAfter(event, after));
      const number = history.subscriptions.findLast((each) => each.client === client)?.number ?? -1;
      return isMissing ? [{ databaseId, client, number }] : [];
    });
  }
}
