/** Questions to an imported history: who last changed a file as of a revision, and what the tree was at a date. */
import { type Api, Direction, type Event, type EventQuery, type QueryEventsRequest } from './api.ts';
import { subjectOf } from './commit-events.ts';
import { FILE_DELETED, type FileChange } from './file-change.ts';

const ALL_EVENTS: EventQuery = {
  eventSelection: undefined,
  revisionRange: undefined,
  effectiveTimeRange: undefined,
  direction: Direction.DIRECTION_FORWARD,
  limit: 0,
  after: undefined,
};

export interface LastChange {
  readonly revision: number;
  readonly change: FileChange;
  readonly deleted: boolean;
  readonly author: string;
  readonly authoredAt: string;
  readonly message: string;
}

/** A file of a tree. */
export interface TreeEntry {
  readonly mode: string;
  readonly blob: string;
}

/** The part of the API that the questions need. */
export type HistoryApi = Pick<Api, 'query' | 'transactionAt' | 'latestRevision'>;

export class History {
  readonly #api: HistoryApi;
  readonly #database: string;

  constructor(api: HistoryApi, database: string) {
    this.#api = api;
    this.#database = database;
  }

  latestRevision(): Promise<number> {
    return this.#api.latestRevision(this.#database);
  }

  /** The latest change of a file in revisions 1 to `revision`, or nothing. */
  async lastChange(path: string, revision: number): Promise<LastChange | undefined> {
    const query: EventQuery = {
      ...ALL_EVENTS,
      eventSelection: { selectors: [{ subject: subjectOf(path), kind: undefined }] },
      direction: Direction.DIRECTION_REVERSE,
      limit: 1,
    };
    for await (const event of this.#api.query({ databaseName: this.#database, query, atRevision: revision })) {
      const transaction = await this.#api.transactionAt(this.#database, event.revision);
      const options = transaction?.body?.options;
      const { name = 'unknown', email = '' } = options?.principalAttributes ?? {};
      return {
        revision: event.revision,
        change: fileChangeOf(event),
        deleted: event.ty === FILE_DELETED,
        author: `${name} <${email}>`,
        authoredAt: event.timeText ?? new Date((event.time?.seconds ?? 0) * 1000).toISOString(),
        message: options?.commitMessage ?? '',
      };
    }
    return undefined;
  }

  /** The files after revision `revision`: the order in which commits entered the history. */
  treeAtRevision(revision: number): Promise<ReadonlyMap<string, TreeEntry>> {
    return this.#fold({ query: ALL_EVENTS, atRevision: revision });
  }

  /**
   * The files at a time, by author dates: what had been written by then, in the order of writing, whenever and in
   * which order it entered the history. Events of a range of effective times come in that order.
   */
  treeAtTime(time: Date): Promise<ReadonlyMap<string, TreeEntry>> {
    const ms = time.getTime();
    const seconds = Math.floor(ms / 1000);
    // Counted from that second, also before 1970: a remainder would be negative there.
    const end = { seconds, nanos: (ms - seconds * 1000) * 1e6 };
    return this.#fold({ query: { ...ALL_EVENTS, effectiveTimeRange: { start: undefined, end } } });
  }

  async #fold(read: Omit<QueryEventsRequest, 'databaseName'>): Promise<ReadonlyMap<string, TreeEntry>> {
    const tree = new Map<string, TreeEntry>();
    for await (const event of this.#api.query({ databaseName: this.#database, ...read })) {
      const { path, mode, blob } = fileChangeOf(event);
      if (event.ty === FILE_DELETED) tree.delete(path);
      else tree.set(path, { mode, blob });
    }
    return tree;
  }
}

function fileChangeOf(event: Event): FileChange {
  const change: FileChange = JSON.parse(event.data.toString('utf8'));
  return change;
}
