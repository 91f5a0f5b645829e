/** The effect and the right answer of each write. Times and generated ids come from the answer that shows them. */

import { describe } from './reads.ts';
import {
  holds,
  isDatabaseId,
  isDatabaseName,
  isUuid,
  isWellFormedConstraint,
  isWellFormedEvent,
  matches,
  shownData,
  streamOf,
} from './rules.ts';
import { type Database, eventsUpTo, lastOf, Refusal, type Store, scopeOf, type Transaction } from './store.ts';
import type { Answer, Constraint, RequestOf, WrittenEvent } from './vocabulary.ts';

const EVENTS_MAX = 1000;
const BYTES_MAX = 1_000_000;
export const COMMANDS: readonly string[] = ['POST execute', 'tool execute_state_change'];

export function create(store: Store, { database: name }: RequestOf<'create'>, seen: Answer): Answer {
  if (!isDatabaseName(name)) throw new Refusal('invalid_argument');
  if (store.databases.has(name)) throw new Refusal('already_exists');
  const created = String(seen.members?.['created'] ?? '');
  const database = { name, id: seen.databaseId ?? '', created, transactions: [] };
  store.databases.set(name, database);
  return describe(database, 0);
}

export function remove(store: Store, { database: name, id }: RequestOf<'delete'>): Answer {
  if (!isDatabaseName(name) || (id !== undefined && !isDatabaseId(id))) throw new Refusal('invalid_argument');
  const database = store.databases.get(name);
  if (id === undefined && database === undefined) throw new Refusal('DatabaseNotFound');
  // With an id, only that instance is deleted; the delete succeeds if the name is bound to another one, or to none.
  if (id === undefined || database?.id === id.toLowerCase()) store.databases.delete(name);
  return {};
}

/** Checked in this order: name, database, minimum revision, recorded result, size, form, constraints. */
export function transact(store: Store, request: RequestOf<'transact'>, seen: Answer): Answer {
  const { id, events, constraints, via } = request;
  const database = store.find(request.database);
  const isCommand = COMMANDS.includes(via);
  if (isCommand && database.hasStateChange !== true) throw new Refusal('StateChangeNotFound', scopeOf(database));
  const recorded = database.transactions.findIndex((each) => each.id === id?.toLowerCase());
  if (id !== undefined && recorded >= 0) return recordOf(database, recorded + 1, true);
  const bytes = events.reduce((sum, { data }) => sum + (data?.value.length ?? 0), 0);
  if (events.length > EVENTS_MAX || bytes > BYTES_MAX) throw new Refusal('TransactionTooLarge');
  const isWellFormed =
    events.length > 0 && events.every(isWellFormedEvent) && constraints.every(isWellFormedConstraint);
  if (!isWellFormed || (id !== undefined && !isUuid(id))) throw new Refusal('invalid_argument');
  requireConstraints(database, constraints);
  database.transactions.push({
    id: id?.toLowerCase() ?? String(seen.members?.['id'] ?? ''),
    origin: isCommand ? 'HttpStateChange' : via.startsWith('Transact') ? 'GrpcTransaction' : 'HttpTransaction',
    events: withStoredIds(database, events),
    recorded: seen.members?.['recorded'] as string | undefined,
  });
  return recordOf(database, lastOf(database), false);
}

function requireConstraints(database: Database, constraints: readonly Constraint[]): void {
  const events = eventsUpTo(database, lastOf(database));
  const violations = constraints.flatMap((constraint, place) => {
    const selector = constraint.kind === 'empty' ? undefined : constraint.selector;
    const found =
      selector === undefined ? lastOf(database) : (events.findLast((event) => matches(selector, event))?.revision ?? 0);
    return holds(constraint, BigInt(found)) ? [] : [`${place}: ${found}`];
  });
  if (violations.length > 0) throw new Refusal('constraint_violated', { ...scopeOf(database), violations });
}

/** An id that exists in its stream gets the suffix `~{revision}.{index}` until it is unique. */
function withStoredIds(database: Database, events: readonly WrittenEvent[]): Transaction['events'] {
  const revision = lastOf(database) + 1;
  const taken = new Set(eventsUpTo(database, revision).map(({ id, source }) => `${streamOf(source)} ${id}`));
  return events.map(({ data, ...event }, index) => {
    const { id = '', source = '' } = event;
    let storedId = id;
    while (taken.has(`${streamOf(source)} ${storedId}`)) storedId += `~${revision}.${index}`;
    taken.add(`${streamOf(source)} ${storedId}`);
    return { ...event, data: shownData(data), storedId };
  });
}

function recordOf(database: Database, revision: number, isReplayed: boolean): Answer {
  const transaction = database.transactions[revision - 1];
  const { id = '', recorded, events = [] } = transaction ?? {};
  return {
    ...scopeOf(database, revision),
    members: {
      id,
      events: events.length,
      basis: revision - 1,
      replayed: isReplayed,
      ...(recorded === undefined ? {} : { recorded }),
    },
    mappings: events.map(({ id: sent = '', storedId }) => `${sent} > ${storedId}`),
  };
}

/** Learns times and hashes from the look-up of a new transaction, which must not be earlier than the previous one. */
export function learn(store: Store, name: string, seen: Answer): void {
  const database = store.databases.get(name);
  const transaction = database?.transactions[(seen.revision ?? 0) - 1];
  if (seen.error !== undefined || database === undefined) return;
  if (transaction === undefined || transaction.hash !== undefined) return;
  transaction.recorded ??= String(seen.members?.['recorded'] ?? '');
  transaction.hash = String(seen.members?.['hash'] ?? '');
  const before = database.transactions[(seen.revision ?? 0) - 2]?.recorded ?? database.created ?? '';
  if (BigInt(before) > BigInt(transaction.recorded))
    throw new Error(`recorded time goes back from ${before} to ${transaction.recorded}`);
}
