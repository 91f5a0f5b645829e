/**
 * Requests and answers, apart from how each interface spells them: the generator draws requests, a client sends one and
 * reads the reply as an answer, and the model gives the answer that is right.
 */
type Optional<Members> = { readonly [Name in keyof Members]?: Members[Name] | undefined };

export type Term = 'type' | 'type-prefix' | 'stream' | 'stream-prefix' | 'subject' | 'subject-prefix' | 'source';

export type Selector =
  | { readonly kind: 'all' }
  | { readonly kind: 'no-subject' }
  | { readonly kind: Term; readonly value: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Selector[] };

export type Position = Readonly<{ revision: bigint; index: number }>;

/** One of the selectors must match; none: every event is selected. */
export type Query = Readonly<{ selectors: readonly Selector[]; isReverse: boolean }> &
  Optional<{
    start: bigint;
    end: bigint;
    /** Times in RFC 3339; present, it sets the order. */
    effective: Optional<{ start: string; end: string }>;
    limit: number;
    after: Position;
    /** Absent: the latest revision. */
    at: bigint;
  }>;

/** A payload: JSON text, text, or bytes in base64. */
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

/** As a client writes it; a required attribute may be missing. */
export type WrittenEvent = Optional<Attributes>;

/** As every interface shows it; it was recorded so many nanoseconds after 1970. */
export type ReadEvent = WrittenEvent &
  Readonly<Pick<Attributes, 'id' | 'source' | 'type' | 'extensions'>> &
  Readonly<{ revision: number; index: number; recorded: string }>;

export type Constraint = Optional<{ selector: Selector }> &
  (
    | Readonly<{ kind: 'min' | 'max'; revision: bigint }>
    | Readonly<{ kind: 'range'; start: bigint; end: bigint }>
    /** Of no kind. */
    | Readonly<{ kind: 'empty' }>
  );

export type Listing = 'streams' | 'subjects' | 'event-types';

/**
 * `database` is its name. `via` is the RPC, or the route of HTTP, which begins with its method. Malformed requests have
 * the names of clients/malformed.ts.
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
    /** The page behind one that was read before. */
    | Readonly<{ kind: 'next'; saved: Saved }>
    /** As of a revision, or so many nanoseconds after 1970. */
    | (Readonly<{ kind: 'database' }> & Optional<{ at: bigint; time: bigint }>)
    | (Readonly<{ kind: 'event' }> & Optional<{ at: bigint; position: Position; stream: string; id: string }>)
    | (Readonly<{ kind: 'names'; listing: Listing; at: bigint }> &
        Optional<{ prefix: string; after: string; limit: number }>)
    | Readonly<{ kind: 'lookup'; id: string }>
  );

export type RequestOf<Kind extends Request['kind']> = Extract<Request, { readonly kind: Kind }>;

/** How a client goes on behind a page. */
export interface Saved {
  readonly via: string;
  /** The query of the whole walk, with the end of the page as `after`, at the revision of the walk. */
  readonly query: Query;
  /** Path of the next page, or the cursor of a body. */
  readonly next: string;
  /** The body without its cursor. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** A request to a node. With `isTool` one of HTTP is sent by the tool `fetch`. */
export type Sent = Readonly<{ request: Request; node: number }> & Optional<{ minRevision: bigint; isTool: boolean }>;

/** What can be said of a reply; a member that an interface does not have is absent. */
export type Answer = Optional<{
  /** The finest name of a failure. */
  error: string;
  /** Place of each violated constraint, and the revision that was found. */
  violations: readonly string[];
  /** It does not say which database it is of, or at which revision. */
  isUnscoped: boolean;
  databaseId: string;
  /** The revision that was read at, or committed. */
  revision: number;
  events: readonly ReadEvent[];
  hasMore: boolean;
  names: readonly string[];
  members: Readonly<Record<string, string | number | boolean>>;
  /** Not compared. */
  saved: Saved;
  /** Stored ids of a transaction, in order, each behind the one that was sent. */
  mappings: readonly string[];
}>;
