// Reads the final state after healing: every database accepts a write, all its replicas have the same content, every
// subscriber gets everything, and after a power failure at rest everything is unchanged.
import { isDeepStrictEqual } from 'node:util';
import { DatabaseError } from '#base';
import { ALL } from '#model';
import type { FinalDatabase, FinalDefinitions } from './checks/evidence.ts';
import { DatabaseModel, isAfter } from './checks/model.ts';
import { expectedBehind } from './checks/subscriptions.ts';
import type { SimCluster } from './cluster.ts';
import type { Simulator } from './engine/simulator.ts';
import { finalDefinitions } from './final-definitions.ts';
import type { CallKind, Calls, History, Outcome } from './history.ts';
import type { SimNode } from './node/sim-node.ts';
import { compareSegments } from './sealed-segments.ts';
import type { Connection } from './workload/connection.ts';
import type { Follower, Wanted } from './workload/follower.ts';
import { Sketches } from './workload/sketches.ts';

export interface TruthParts {
  readonly simulator: Simulator;
  readonly cluster: SimCluster;
  readonly history: History;
  readonly followers: readonly Follower[];
  /** Adds a subscriber. */
  readonly follow: (wanted: Wanted) => void;
  readonly reader: Connection;
  readonly onProblem: (what: string) => void;
  /** Called when subscribers may stop. */
  readonly onHeard: () => void;
}

type Final = Omit<FinalDatabase, 'followers'>;

interface Copy {
  readonly node: SimNode;
  readonly copy: Final;
}

const SECOND_US = 1_000_000;
/** Number of attempts within which a healthy node answers; with several nodes an election may be needed. */
const ATTEMPTS_MAX = 3;
const CLUSTER_ATTEMPTS_MAX = 15;
/** Time within which requested moves complete. */
const SETTLED_US_MAX = 60 * SECOND_US;
/** Number of attempts after which suspended threads have continued and messages have arrived, within 5 s. */
const READINGS_MAX = 7;

export class Truth {
  readonly #parts: TruthParts;

  constructor(parts: TruthParts) {
    this.#parts = parts;
  }

  /** Writes to and reads every database, waits for subscribers, and reads again after a power failure. */
  async read(): Promise<readonly FinalDatabase[]> {
    const { simulator, reader, onProblem, onHeard } = this.#parts;
    const sketches = new Sketches(simulator.random('last words'));
    for (const { name } of await this.#must('list', {})) {
      const transactionId = sketches.transactionId();
      const request = { name, transactionId, constraints: [], events: sketches.events('reader') };
      await this.#must('transact', request).catch(async (failure: unknown) => {
        // A deletion whose client has given up may take effect after the list.
        if ((await this.#must('list', {})).some((each) => each.name === name)) throw failure;
      });
    }
    await this.#settle();
    const before = await this.#readAlike();
    this.#resume(before);
    const waitUntilUs = simulator.nowUs + 5 * SECOND_US;
    while (this.#laggards(before).length > 0 && simulator.nowUs < waitUntilUs) await reader.sleep(100_000);
    const laggards = this.#laggards(before);
    onHeard();
    let after = await this.#readAfterPowerFailure();
    if (!isDeepStrictEqual(before, after)) {
      // A write whose client has given up may have taken effect in between; no other write may.
      const again = await this.#readAlike();
      after = await this.#readAfterPowerFailure();
      if (!isDeepStrictEqual(again, after) || !before.every((one) => isKept(one, after))) {
        onProblem('after a power failure at rest the databases are not what they were');
      }
    }
    this.#compareSegments();
    return after.map((final) => ({
      ...final,
      followers: laggards.filter(({ databaseId }) => databaseId === final.databaseId),
    }));
  }

  /** Resumes a subscriber of each database in the middle of its last revision, an unusual position. */
  #resume(finals: readonly Final[]): void {
    for (const { name, databaseId, revision } of finals) {
      const place = { databaseId, after: { revision, index: 0 } };
      this.#parts.follow({ client: `resumed in ${name}`, name, selector: ALL, place });
    }
  }

  async #settle(): Promise<void> {
    const { simulator, cluster, reader, onProblem } = this.#parts;
    const limitUs = simulator.nowUs + SETTLED_US_MAX;
    while (!cluster.isSettled && simulator.nowUs < limitUs) await reader.sleep(100_000);
    if (!cluster.isSettled) onProblem('the nodes do not come to one catalog, or a copy to what its node has shown');
  }

  async #readAfterPowerFailure(): Promise<readonly Final[]> {
    const { cluster, reader } = this.#parts;
    for (const node of cluster.nodes) node.crash({ kind: 'power', share: 0 });
    while (!cluster.nodes.every(({ isUp }) => isUp)) await reader.sleep(50_000);
    return this.#readAlike();
  }

  /** Segments never change once there is a later one, so those that nodes have now are equal whatever is written. */
  #compareSegments(): void {
    const { simulator, cluster, onProblem } = this.#parts;
    let sealed = 0;
    for (const { name, group } of cluster.nodes[0].process?.node?.catalog.list() ?? []) {
      const compared = compareSegments(
        group,
        cluster.holders(name).map((node) => ({ name: node.name, disk: node.store.disk })),
      );
      sealed += compared.sealed;
      for (const fault of compared.faults) onProblem(`${name}: ${fault}`);
    }
    simulator.note(`${sealed} sealed segments are right`);
  }

  /** Reads all replicas of every database: checks 1 and 13 inspect one, and the others must be equal. */
  async #readAlike(): Promise<readonly Final[]> {
    const { cluster, reader, onProblem } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      const finals: Final[] = [];
      const faults: string[] = [];
      for (const { name } of await this.#must('list', {})) {
        const [final, ...others] = await this.#readCopies(name);
        if (final === undefined) {
          faults.push(`check 1: ${name} is moved again and again while it is read`);
          continue;
        }
        finals.push(final.copy);
        for (const { node, copy } of others) faults.push(...difference(final.copy, copy, node));
      }
      reader.turnTo(cluster.nodes[0]);
      // A write whose client has given up may take effect while they are read.
      if (faults.length === 0 || attempt === READINGS_MAX) {
        for (const fault of faults) onProblem(fault);
        return finals;
      }
      await reader.sleep(SECOND_US);
    }
  }

  /** Empty when a replica was given up meanwhile: returning nodes may get replicas of others. */
  async #readCopies(name: string): Promise<readonly Copy[]> {
    const { cluster } = this.#parts;
    const holders = cluster.holders(name);
    if (holders.length === 0) throw new Error(`No node holds ${name}`);
    const copies: Copy[] = [];
    for (const node of holders) {
      const copy = await this.#readOne(name, node).catch((failure: unknown) => {
        if (cluster.holders(name).includes(node)) throw failure;
      });
      if (copy === undefined) return [];
      copies.push({ node, copy });
    }
    return copies;
  }

  async #readOne(name: string, node: SimNode): Promise<Final> {
    const { createdAtMs } = await this.#must('describe', { name, at: 'latest' }, node);
    const log = await this.#must('log', { name, start: 0, direction: 'forward', limit: 0 }, node);
    const { databaseId, revision, transactions } = log;
    const { chainHash } = await this.#must('describe', { name, at: revision }, node);
    const rootId = node.process?.node?.catalog.lookup(name)?.recovery?.rootId;
    const final = { name, databaseId, rootId, revision, chainHash, createdAtMs, transactions };
    return this.#parts.history.definings.length === 0
      ? final
      : { ...final, definitions: await this.#defined(name, node) };
  }

  /** Definitions of the replica on this node. */
  async #defined(name: string, node: SimNode): Promise<FinalDefinitions> {
    for (let attempt = 1; attempt <= CLUSTER_ATTEMPTS_MAX; attempt += 1) {
      const { process } = node;
      const defined = process === undefined ? undefined : await finalDefinitions(process, name).catch(unlessRefused);
      if (defined !== undefined) return defined;
      await this.#parts.reader.sleep(SECOND_US);
    }
    throw new Error(`A healed node does not say what is defined in ${name}: ${node.name}`);
  }

  /** On healthy nodes every call succeeds after a few attempts. */
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
      const isGone = node !== undefined && isOfNoReplica(outcome) && !cluster.holders(nameIn(request)).includes(node);
      if (attempt === attempts || isGone)
        throw new Error(`A healed node fails to ${kind}${where}: ${JSON.stringify(outcome)}`);
      await reader.sleep(SECOND_US);
      // Tries one node after the other: of five, only one may have a replica.
      const next = cluster.nodes[attempt % cluster.nodes.length];
      if (node === undefined && next !== undefined) reader.turnTo(next);
    }
  }

  /** Subscribers of existing instances that miss events. */
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

function unlessRefused(failure: unknown): undefined {
  if (!(failure instanceof DatabaseError)) throw failure;
}

function isOfNoReplica(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'error' && outcome.reason === 'NotReplica';
}

function nameIn(request: Calls[CallKind]['request']): string {
  return 'name' in request ? request.name : '';
}

function difference(final: Final, other: Final, { name }: SimNode): readonly string[] {
  if (isDeepStrictEqual(final, other)) return [];
  const { chainHash, revision } = other;
  if (!isDeepStrictEqual(final.definitions, other.definitions)) {
    return [`check 15: ${name} has other components defined in ${final.name} than another node`];
  }
  return [
    `check 1: ${name} has another ${final.name}: ${chainHash} at ${revision}, not ${final.chainHash} at ${final.revision}`,
  ];
}

/** True when the earlier transactions are still there. */
function isKept({ databaseId, transactions }: Final, now: readonly Final[]): boolean {
  const final = now.find((each) => each.databaseId === databaseId);
  return final !== undefined && isDeepStrictEqual(final.transactions.slice(0, transactions.length), transactions);
}
