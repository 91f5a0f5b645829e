/**
 * Requests and answers, apart from how each interface spells them: the generator draws requests, a client sends one and
 * reads the reply as an answer, and the model gives the answer that is right.
 */
export type Term = 'type' | 'type-prefix' | 'stream' | 'stream-prefix' | 'subject' | 'subject-prefix' | 'source';

export type Selector =
  | { readonly kind: 'all' }
  | { readonly kind: 'no-subject' }
  | { readonly kind: Term; readonly value: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Selector[] };

export interface Position {
  readonly revision: bigint;
  readonly index: number;
}

export interface Query {
  /** One of them must match; none: every event is selected. */
  readonly selectors: readonly Selector[];
  readonly start?: bigint | undefined;
  readonly end?: bigint | undefined;
  /** Times in RFC 3339; present, it sets the order. */
  readonly effective?: { readonly start?: string | undefined; readonly end?: string | undefined } | undefined;
  readonly isReverse: boolean;
  readonly limit?: number | undefined;
  readonly after?: Position | undefined;
  /** Absent: the latest revision. */
  readonly at?: bigint | undefined;
}

/** A payload: JSON text, text, or bytes in base64. */
export type Data = { readonly kind: 'json' | 'text' | 'binary'; readonly value: string };

/** As a client writes it; a required attribute may be missing. */
export interface WrittenEvent {
  readonly id?: string | undefined;
  readonly source?: string | undefined;
  readonly specversion?: string | undefined;
  readonly type?: string | undefined;
  readonly subject?: string | undefined;
  readonly time?: string | undefined;
  readonly datacontenttype?: string | undefined;
  readonly dataschema?: string | undefined;
  readonly data?: Data | undefined;
  readonly extensions?: Readonly<Record<string, string | number | boolean>> | undefined;
}

export type Constraint =
  | { readonly kind: 'min' | 'max'; readonly revision: bigint; readonly selector?: Selector | undefined }
  | { readonly kind: 'range'; readonly start: bigint; readonly end: bigint; readonly selector?: Selector | undefined }
  /** Of no kind. */
  | { readonly kind: 'empty' };

export type Listing = 'streams' | 'subjects' | 'event-types';

interface To {
  /** The name of the database. */
  readonly database: string;
}

/** `via` is the RPC, or the route of HTTP. A route of HTTP begins with its method. */
export type Request =
  | (To & { readonly kind: 'create'; readonly via: 'CreateDatabase' | 'POST /api/v1/db' | 'POST /databases' })
  | (To & {
      readonly kind: 'delete';
      readonly via: 'DeleteDatabase' | 'DELETE /api/v1/db' | 'DELETE /databases';
      readonly id?: string | undefined;
    })
  | (To & {
      readonly kind: 'transact';
      readonly via: 'Transact' | 'Transact CloudEvents' | 'POST /api/v1/db/{db}' | 'POST /databases/{db}/events';
      readonly id?: string | undefined;
      readonly events: readonly WrittenEvent[];
      readonly constraints: readonly Constraint[];
    })
  | (To & {
      readonly kind: 'query';
      readonly via: 'QueryEvents' | 'QueryEventBatches' | 'GET events?q' | 'GET events' | 'POST query' | 'GET one';
      readonly query: Query;
    })
  | (To & {
      readonly kind: 'scan';
      readonly via: 'ScanDatabaseLog' | 'ScanLogBatches' | 'GET log';
      readonly start?: bigint | undefined;
      readonly isReverse: boolean;
      readonly limit?: number | undefined;
    })
  /** The page behind one that was read before. */
  | (To & { readonly kind: 'next'; readonly via: 'POST next' | 'GET next'; readonly saved: Saved })
  | (To & { readonly kind: 'subscribe'; readonly via: 'SubscribeEvents'; readonly query: Query })
  | (To & {
      readonly kind: 'database';
      readonly via:
        | 'FetchLatestDatabase'
        | 'FetchDatabaseAtRevision'
        | 'AwaitDatabase'
        | 'DatabaseEffectiveAtTimestamp'
        | 'GET /db/{db}/{revision}'
        | 'GET /db/{db}/latest'
        | 'GET /db/{db}/cached'
        | 'GET /databases/{db}';
      readonly at?: bigint | undefined;
      /** Nanoseconds since 1970. */
      readonly time?: bigint | undefined;
    })
  | (To & {
      readonly kind: 'event';
      readonly via: 'GET event' | 'GET log event' | 'GET event by id';
      readonly at?: bigint | undefined;
      readonly position?: Position | undefined;
      readonly stream?: string | undefined;
      readonly id?: string | undefined;
    })
  | (To & {
      readonly kind: 'names';
      readonly via: 'GET names';
      readonly listing: Listing;
      readonly at: bigint;
      readonly prefix?: string | undefined;
      readonly after?: string | undefined;
      readonly limit?: number | undefined;
    })
  | (To & { readonly kind: 'lookup'; readonly via: 'FetchTransaction' | 'GET transaction'; readonly id: string })
  | (To & { readonly kind: 'catalog'; readonly via: 'FetchCatalog' | 'GET /' | 'GET /databases' })
  /** What must be refused whatever the databases hold; clients/malformed.ts has them by name. */
  | (To & { readonly kind: 'malformed'; readonly via: string });

/** How a client goes on behind a page. */
export interface Saved {
  readonly via: Request['via'];
  /** The query of the whole walk, with the end of the page as `after`, at the revision of the walk. */
  readonly query: Query;
  /** Path of the next page, or the cursor of a body. */
  readonly next: string;
  /** The body without its cursor. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

export interface Sent {
  readonly request: Request;
  /** The node that it is sent to. */
  readonly node: number;
  readonly minRevision?: bigint | undefined;
  /** A request of HTTP is sent by the tool `fetch`. */
  readonly isTool?: boolean;
}

/** As every interface shows it. */
export interface ReadEvent {
  readonly id: string;
  readonly specversion?: string | undefined;
  readonly source: string;
  readonly type: string;
  readonly subject?: string | undefined;
  readonly time?: string | undefined;
  readonly datacontenttype?: string | undefined;
  readonly dataschema?: string | undefined;
  readonly data?: Data | undefined;
  readonly extensions: Readonly<Record<string, string | number | boolean>>;
  readonly revision: number;
  readonly index: number;
  /** Nanoseconds since 1970. */
  readonly recorded: string;
}

/** What can be said of a reply; a member that an interface does not have is absent. */
export interface Answer {
  /** The finest name of a failure. */
  readonly error?: string | undefined;
  /** Place of each violated constraint, and the revision that was found. */
  readonly violations?: readonly string[] | undefined;
  /** It does not say which database it is of, or at which revision. */
  readonly isUnscoped?: boolean;
  readonly databaseId?: string | undefined;
  /** The revision that was read at, or committed. */
  readonly revision?: number | undefined;
  readonly events?: readonly ReadEvent[] | undefined;
  readonly hasMore?: boolean | undefined;
  readonly names?: readonly string[] | undefined;
  readonly members?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Not compared. */
  readonly saved?: Saved | undefined;
  /** Stored ids of a transaction, in order, each behind the one that was sent. */
  readonly mappings?: readonly string[] | undefined;
}
