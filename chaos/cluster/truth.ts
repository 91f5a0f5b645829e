/**
 * Reads the final state after the cluster has healed. Every database must accept a write, and all nodes with a replica
 * must have the same content. The histories are checked against this state.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type FinalDatabase } from '../../test/simulation/checks/evidence.ts';
import { DatabaseModel, isAfter } from '../../test/simulation/checks/model.ts';
import { expectedBehind } from '../../test/simulation/checks/subscriptions.ts';
import { Rng } from '../../test/simulation/engine/random.ts';
import { type CallKind, type Calls, History } from '../../test/simulation/history.ts';
import { Sketches } from '../../test/simulation/workload/sketches.ts';
import { Connection, type Server } from './connection.ts';
import type { Follower } from './follower.ts';

/** Every call to a healed cluster succeeds within this time. */
const HEALED_WITHIN_MS = 60_000;
const RETRY_MS = 200;
const SIDE_BY_SIDE = 4;

/** Repeats the call until it succeeds. @throws Error with the last outcome when it never does. */
export async function must<Kind extends CallKind>(
  connection: Connection,
  kind: Kind,
  request: Calls[Kind]['request'],
): Promise<Calls[Kind]['value']> {
  const deadlineMs = performance.now() + HEALED_WITHIN_MS;
  for (;;) {
    const { outcome } = await connection.call(kind, request);
    if (outcome.kind === 'ok') return outcome.value;
    if (performance.now() > deadlineMs) {
      throw new Error(`A healed cluster does not ${kind} ${JSON.stringify(request)}: ${JSON.stringify(outcome)}`);
    }
    await delay(RETRY_MS);
  }
}

/** Creates a database, with several attempts if needed: an attempt whose reply was lost may have created it. */
export async function open(connection: Connection, name: string): Promise<void> {
  const deadlineMs = performance.now() + HEALED_WITHIN_MS;
  for (;;) {
    const { outcome } = await connection.call('create', { name });
    if (outcome.kind === 'ok' || (outcome.kind === 'error' && outcome.code === 'already_exists')) return;
    if (performance.now() > deadlineMs)
      throw new Error(`A new cluster does not create ${name}: ${JSON.stringify(outcome)}`);
    await delay(RETRY_MS);
  }
}

/** Writes one more transaction to each of these databases. */
export async function writeLastWords(connection: Connection, names: readonly string[], random: Rng): Promise<void> {
  const sketches = new Sketches(random);
  await sideBySide(names, async (name) => {
    const request = { name, transactionId: sketches.transactionId(), constraints: [], events: sketches.events('last') };
    await must(connection, 'transact', request);
  });
}

/**
 * Reads each of these databases from every node with a replica. Waits for missing replicas, because they may still be
 * moving to other nodes.
 * @throws Error when two replicas differ, and when there are fewer replicas than `copies`.
 */
export function readCopies(
  names: readonly string[],
  members: readonly Server[],
  copies: number,
): Promise<readonly FinalDatabase[]> {
  const readers = members.map((member) => readerAt(member));
  return sideBySide(names, async (name) => {
    const deadlineMs = performance.now() + HEALED_WITHIN_MS;
    let holding = await readHolding(readers, name);
    while (holding.length < Math.min(copies, members.length) && performance.now() < deadlineMs) {
      await delay(RETRY_MS);
      holding = await readHolding(readers, name);
    }
    const [first, ...others] = holding;
    if (first === undefined || holding.length < Math.min(copies, members.length)) {
      throw new Error(`${name} is held by ${holding.length} of ${members.length} nodes, not by ${copies}`);
    }
    for (const other of others) {
      const difference = differenceOf(first.final, other.final);
      if (difference !== undefined) throw new Error(`${name}: ${first.name} and ${other.name} differ: ${difference}`);
    }
    return first.final;
  });
}

/** Returns the subscribers that miss events of the remaining databases. */
export function laggards(followers: readonly Follower[], finals: readonly FinalDatabase[]): readonly Laggard[] {
  return followers.flatMap(({ options: { client, name, selector, history }, place }) => {
    const final = finals.find((each) => each.name === name);
    if (final === undefined) return [];
    const { databaseId, transactions, revision } = final;
    const after = place?.databaseId === databaseId ? place.after : { revision: 0, index: 0 };
    const events = new DatabaseModel(transactions).events(revision);
    const isMissing = expectedBehind(events, { selector, after }).some((event) => isAfter(event, after));
    const number = history.subscriptions.findLast((each) => each.client === client)?.number ?? -1;
    return isMissing ? [{ databaseId, client, number }] : [];
  });
}

export interface Laggard {
  readonly databaseId: string;
  readonly client: string;
  readonly number: number;
}

async function sideBySide<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return results;
}

interface Holding {
  readonly name: string;
  readonly final: FinalDatabase;
}

async function readHolding(readers: readonly Connection[], name: string): Promise<readonly Holding[]> {
  const found = await Promise.all(readers.map(async (reader) => ({ reader, final: await readCopy(reader, name) })));
  return found.flatMap(({ reader, final }) => (final === undefined ? [] : [{ name: reader.client, final }]));
}

/** Reads the replica of one node; undefined when it has none. */
async function readCopy(reader: Connection, name: string): Promise<FinalDatabase | undefined> {
  const { outcome } = await reader.call('describe', { name, at: 'latest' });
  if (outcome.kind === 'error' && outcome.reason === 'NotReplica') return undefined;
  const { createdAtMs } = await must(reader, 'describe', { name, at: 'latest' });
  const log = await must(reader, 'log', { name, start: 0, direction: 'forward', limit: 0 });
  const { databaseId, revision, transactions } = log;
  const { chainHash } = await must(reader, 'describe', { name, at: revision });
  return { name, databaseId, revision, chainHash, createdAtMs, transactions, followers: [] };
}

function readerAt(member: Server): Connection {
  const random = new Rng(0, member.name);
  const habits = { history: new History(), random, roamShare: 0, deadlineMs: 30_000, isRelayed: false };
  return new Connection({ client: member.name, members: () => [member], ...habits });
}

function differenceOf(one: FinalDatabase, other: FinalDatabase): string | undefined {
  for (const key of ['databaseId', 'revision', 'chainHash', 'createdAtMs'] as const) {
    if (one[key] !== other[key]) return `${key} ${one[key]} and ${other[key]}`;
  }
  const place = one.transactions.findIndex((transaction, at) => {
    const twin = other.transactions[at];
    return twin === undefined || JSON.stringify(transaction) !== JSON.stringify(twin);
  });
  return place === -1 ? undefined : `revision ${place + 1}`;
}
