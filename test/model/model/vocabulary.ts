/**
 * Requests and answers, independent of their form in each interface: the generator draws requests, a client sends them
 * and converts replies to answers, and the model returns the right answers.
 */
type Optional<Members> = { readonly [Name in keyof Members]?: Members[Name] | undefined };

export type Term = 'type' | 'type-prefix' | 'stream' | 'stream-prefix' | 'subject' | 'subject-prefix' | 'source';

export type Selector =
  | { readonly kind: 'all' }
  | { readonly kind: 'no-subject' }
  | { readonly kind: Term; readonly value: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Selector[] };

export type Position = Readonly<{ revision: bigint; index: number }>;

/** An event must match one of the selectors; without selectors, every event matches. */
export type Query = Readonly<{ selectors: readonly Selector[]; isReverse: boolean }> &
  Optional<{
    start: bigint;
    end: bigint;
    /** Times in RFC 3339; a range selects the order by effective time. */
    effective: Optional<{ start: string; end: string }>;
    limit: number;
    after: Position;
    /** Absent: the latest revision. */
    at: bigint;
  }>;

/** A payload: JSON text, text, or base64 bytes. */
export type Data = Readonly<{ kind: 'json' | 'text' | 'binary'; value: string }>;

interface Attributes {
  id: string;
  source: string;
  specversion: string;
  type: string;
  subject: string;
  time: string;
  datacontenttype: string;
  dataschema: string;
  data: Data;
  extensions: Readonly<Record<string, string | number | boolean>>;
}

/** An event as a client writes it; required attributes may be missing. */
export type WrittenEvent = Optional<Attributes>;

/** An event as every interface shows it; `recorded` is in nanoseconds since 1970. */
export type ReadEvent = WrittenEvent &
  Readonly<Pick<Attributes, 'id' | 'source' | 'type' | 'extensions'>> &
  Readonly<{ revision: number; index: number; recorded: string }>;

export type Constraint = Optional<{ selector: Selector }> &
  (
    | Readonly<{ kind: 'min' | 'max'; revision: bigint }>
    | Readonly<{ kind: 'range'; start: bigint; end: bigint }>
    /** Without a kind. */
    | Readonly<{ kind: 'empty' }>
  );

export type Listing = 'streams' | 'subjects' | 'event-types';

/**
 * `database` is its name. `via` is the RPC, or the HTTP route, which starts with its method. Malformed requests use the
 * names of clients/malformed.ts.
 */
export type Request = Readonly<{ via: string; database: string }> &
  (
    | Readonly<{ kind: 'create' }>
    | Readonly<{ kind: 'catalog' }>
    | Readonly<{ kind: 'malformed' }>
    /** Publishes the State Change of clients/state-change.ts; each of its commands is a transaction with one event. */
    | Readonly<{ kind: 'publish' }>
    | (Readonly<{ kind: 'delete' }> & Optional<{ id: string }>)
    | (Readonly<{ kind: 'transact'; events: readonly WrittenEvent[]; constraints: readonly Constraint[] }> &
        Optional<{ id: string }>)
    | Readonly<{ kind: 'query'; query: Query }>
    | Readonly<{ kind: 'subscribe'; query: Query }>
    | (Readonly<{ kind: 'scan'; isReverse: boolean }> & Optional<{ start: bigint; limit: number }>)
    /** The page after an earlier one. */
    | Readonly<{ kind: 'next'; saved: Saved }>
    /** At a revision, or at a time in nanoseconds since 1970. */
    | (Readonly<{ kind: 'database' }> & Optional<{ at: bigint; time: bigint }>)
    | (Readonly<{ kind: 'event' }> & Optional<{ at: bigint; position: Position; stream: string; id: string }>)
    | (Readonly<{ kind: 'names'; listing: Listing; at: bigint }> &
        Optional<{ prefix: string; after: string; limit: number }>)
    | Readonly<{ kind: 'lookup'; id: string }>
  );

export type RequestOf<Kind extends Request['kind']> = Extract<Request, { readonly kind: Kind }>;

/** Data to request the page after this one. */
export interface Saved {
  readonly via: string;
  /** The query of all pages, at their common revision, with the end of this page as `after`. */
  readonly query: Query;
  /** Path of the next page, or cursor for the body. */
  readonly next: string;
  /** The body without its cursor. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** A request to a node. With `isTool`, an HTTP request is sent through the tool `fetch`. */
export type Sent = Readonly<{ request: Request; node: number }> & Optional<{ minRevision: bigint; isTool: boolean }>;

/** The content of a reply; members that an interface does not have are absent. */
export type Answer = Optional<{
  /** The most specific name of a failure. */
  error: string;
  /** Index of each violated constraint, with the found revision. */
  violations: readonly string[];
  /** True when the reply does not name the instance and revision. */
  isUnscoped: boolean;
  databaseId: string;
  /** The revision of a read or commit. */
  revision: number;
  events: readonly ReadEvent[];
  hasMore: boolean;
  names: readonly string[];
  members: Readonly<Record<string, string | number | boolean>>;
  /** Not compared. */
  saved: Saved;
  /** Stored ids of a transaction, in order, each after the id that was sent. */
  mappings: readonly string[];
}>;
