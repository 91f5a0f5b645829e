/** What the model holds: for each database an array of transactions. Whatever is asked is found by going through it. */
import { isDatabaseName } from './rules.ts';
import type { Answer, ReadEvent, WrittenEvent } from './vocabulary.ts';

export interface Transaction {
  readonly id: string;
  readonly origin: string;
  readonly events: readonly (WrittenEvent & { readonly storedId: string })[];
  /** What the server decides, from the first answer that shows it on. */
  recorded?: string | undefined;
  hash?: string | undefined;
}

export interface Database {
  readonly name: string;
  id: string;
  created?: string | undefined;
  hasStateChange?: boolean;
  /** That of revision r is at r - 1. */
  readonly transactions: Transaction[];
}

/** Ends the work on a request with what it is answered. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(error: string, rest: Answer = {}) {
    super(error);
    this.answer = { error, ...rest };
  }
}

export class Store {
  readonly databases: Map<string, Database> = new Map();
  /** What the request that is being answered must not be answered below. */
  minRevision: bigint | undefined;
  /** It is answered by a page of TOON. */
  isTool = false;

  /** @throws Refusal where there is none, or none that has come to the least revision. */
  find(name: string): Database {
    if (!isDatabaseName(name)) throw new Refusal('invalid_argument');
    const found = this.databases.get(name);
    if (found === undefined) throw new Refusal('DatabaseNotFound');
    revisionOf(found, this.minRevision);
    return found;
  }
}

/** Events or names of a page of HTTP. TOON has fewer; a larger limit counts as its largest. */
export function pageSize({ isTool }: Store, limit: number | undefined): number {
  return isTool ? Math.min(limit ?? 50, 250) : (limit ?? 100);
}

export function lastOf(database: Database): number {
  return database.transactions.length;
}

/** Where an answer was read. */
export function scopeOf(database: Database, revision: number = lastOf(database)): Answer {
  return { databaseId: database.id, revision };
}

/** The revision to read at. @throws Refusal beyond the database. */
export function revisionOf(database: Database, at: bigint | undefined): number {
  if (at === undefined) return lastOf(database);
  if (at > BigInt(lastOf(database))) throw new Refusal('RevisionNotFound', scopeOf(database));
  return Number(at);
}

/** All events up to a revision, in the order of their positions. */
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
