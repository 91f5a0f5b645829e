/** The data of the model: for each database an array of transactions, which every operation scans. */
import { isDatabaseName } from './rules.ts';
import type { Answer, ReadEvent, WrittenEvent } from './vocabulary.ts';

export interface Transaction {
  readonly id: string;
  readonly origin: string;
  readonly events: readonly (WrittenEvent & { readonly storedId: string })[];
  /** Values that the server decides, known from the first answer that shows them. */
  recorded?: string | undefined;
  hash?: string | undefined;
}

export interface Database {
  readonly name: string;
  id: string;
  created?: string | undefined;
  hasStateChange?: boolean;
  /** The transaction of revision r is at index r - 1. */
  readonly transactions: Transaction[];
}

/** Thrown to end a request with an answer. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(error: string, rest: Answer = {}) {
    super(error);
    this.answer = { error, ...rest };
  }
}

export class Store {
  readonly databases: Map<string, Database> = new Map();
  /** The minimum revision of the current request. */
  minRevision: bigint | undefined;
  /** True when the answer is a TOON page. */
  isTool = false;

  /** @throws Refusal when the database does not exist, or has not reached the minimum revision. */
  find(name: string): Database {
    if (!isDatabaseName(name)) throw new Refusal('invalid_argument');
    const found = this.databases.get(name);
    if (found === undefined) throw new Refusal('DatabaseNotFound');
    revisionOf(found, this.minRevision);
    return found;
  }
}

/** Page size over HTTP. TOON pages are smaller, and larger limits are reduced to their maximum. */
export function pageSize({ isTool }: Store, limit: number | undefined): number {
  return isTool ? Math.min(limit ?? 50, 250) : (limit ?? 100);
}

export function lastOf(database: Database): number {
  return database.transactions.length;
}

/** Instance and revision of an answer. */
export function scopeOf(database: Database, revision: number = lastOf(database)): Answer {
  return { databaseId: database.id, revision };
}

/** The revision to read at. @throws Refusal when it is beyond the database. */
export function revisionOf(database: Database, at: bigint | undefined): number {
  if (at === undefined) return lastOf(database);
  if (at > BigInt(lastOf(database))) throw new Refusal('RevisionNotFound', scopeOf(database));
  return Number(at);
}

/** All events up to a revision, in order of position. */
export function eventsUpTo(database: Database, revision: number): readonly ReadEvent[] {
  return database.transactions
    .slice(0, revision)
    .flatMap(({ events, recorded }, place) =>
      events.map((event, index) => shown(event, { revision: place + 1, index, recorded: recorded ?? '' })),
    );
}

function shown(
  { storedId, extensions = {}, source = '', type = '', ...event }: Transaction['events'][number],
  place: Pick<ReadEvent, 'revision' | 'index' | 'recorded'>,
): ReadEvent {
  return { ...event, source, type, extensions, ...place, id: storedId };
}
