// What clients asked, what they were told, and when: all that the checks may look at. Nothing is from inside of a node.
//
// An operation is invoked at a time and returns at a later one, or never: its outcome is then unknown, and it may have
// its effect at any time after its invocation, once, or not at all. Times are virtual microseconds.
import type { DefinitionOutcome } from '#cluster';
import type { Constraint, DefinitionEntry, Direction, EventQuery, Position, Selector } from '#model';

/** An event as a client writes it. */
export interface EventSketch {
  readonly id: string;
  readonly stream: string;
  readonly type: string;
  readonly subject?: string | undefined;
  /** Its effective time, in milliseconds since 1970; without one the recorded time takes its place. */
  readonly timeMs?: number;
  /** The payload: this text, then so many zeros. */
  readonly text: string;
  readonly zeros: number;
}

/** An event as a client is shown it; `id` is the stored one. */
export interface EventSeen extends EventSketch {
  readonly revision: number;
  readonly index: number;
  readonly recordedTimeMs: number;
}

/** A transaction as the log shows it. */
export interface TransactionSeen {
  readonly revision: number;
  readonly transactionId: string;
  readonly recordedTimeMs: number;
  readonly totalEvents: number;
  /** Hexadecimal. */
  readonly chainHash: string;
  readonly storedIds: readonly (readonly [index: number, id: string])[];
  /** With the ids that were written. */
  readonly events: readonly EventSketch[];
  /** What is hashed. */
  readonly body: Uint8Array;
}

/** The instance and the revision that an answer names. */
export interface Scope {
  readonly databaseId: string;
  readonly revision: number;
}

/** Which revision a read asks for. */
export type At = number | 'latest' | 'cached';

export interface ReadRequest {
  readonly name: string;
  readonly at: At;
  readonly minRevision?: number | undefined;
}

export interface Violation {
  readonly index: number;
  readonly found: number;
}

/** A request of each kind, and the value of its success. */
export interface Calls {
  transact: {
    request: {
      readonly name: string;
      readonly transactionId: string;
      readonly constraints: readonly Constraint[];
      readonly events: readonly EventSketch[];
      readonly minRevision?: number | undefined;
    };
    value:
      | (Scope & {
          readonly kind: 'recorded';
          readonly transactionId: string;
          readonly basis: number;
          readonly recordedTimeMs: number;
          readonly replayed: boolean;
          readonly storedIds: readonly string[];
        })
      | (Scope & { readonly kind: 'refused'; readonly violations: readonly Violation[] });
  };
  create: { request: { readonly name: string }; value: Scope & { readonly createdAtMs: number } };
  delete: {
    request: { readonly name: string; readonly databaseId?: string | undefined };
    /** The instance that was deleted, if one was. */
    value: { readonly databaseId: string | undefined };
  };
  list: { request: Record<string, never>; value: readonly (Scope & { readonly name: string })[] };
  describe: {
    request: ReadRequest;
    value: Scope & {
      readonly createdAtMs: number;
      readonly basis: number;
      readonly revisionTimeMs: number;
      readonly eventCount: number;
      readonly chainHash: string;
      readonly latestRevision: number;
    };
  };
  /** A database as it was at a recorded time. */
  asOf: {
    request: { readonly name: string; readonly timeMs: number };
    value: Calls['describe']['value'];
  };
  query: {
    request: ReadRequest & { readonly query: EventQuery };
    value: Scope & { readonly events: readonly EventSeen[] };
  };
  /** A transaction by its id, as of the latest revision. */
  fetch: {
    request: { readonly name: string; readonly transactionId: string };
    value: Scope & { readonly transaction: TransactionSeen };
  };
  /** Whole transactions, as of the latest revision. */
  log: {
    request: { readonly name: string; readonly start: number; readonly direction: Direction; readonly limit: number };
    value: Scope & { readonly transactions: readonly TransactionSeen[] };
  };
  await: { request: { readonly name: string; readonly revision: number }; value: Scope };
  event: {
    request: ReadRequest & { readonly stream: string; readonly id: string };
    value: Scope & { readonly event: EventSeen };
  };
  names: {
    request: ReadRequest & { readonly of: 'streams' | 'subjects' | 'types' };
    value: Scope & { readonly names: readonly (readonly [name: string, firstRevision: number])[] };
  };
}

export type CallKind = keyof Calls;

export type Outcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** `isDefinite`: the operation had no effect and will have none. */
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly reason: string | undefined;
      readonly isDefinite: boolean;
      /** Where the request was judged, when it came so far. */
      readonly scope?: Scope | undefined;
    }
  | { readonly kind: 'unknown' };

export interface Operation<Kind extends CallKind> {
  readonly number: number;
  readonly kind: Kind;
  readonly client: string;
  readonly request: Calls[Kind]['request'];
  readonly invokedUs: number;
  /** The network brought it twice: what was answered to one of them says nothing of the other. */
  isDoubled: boolean;
  /** Infinite while, and when, nothing has come back. */
  returnedUs: number;
  /** The connection that the answer came by; undefined without an answer. */
  session: string | undefined;
  outcome: Outcome<Calls[Kind]['value']>;
}

export type AnyOperation = { readonly [Kind in CallKind]: Operation<Kind> }[CallKind];

export type FollowItem =
  | { readonly kind: 'events'; readonly atUs: number; readonly events: readonly EventSeen[] }
  | { readonly kind: 'heartbeat'; readonly atUs: number; readonly position: Position; readonly revision: number };

/** One subscription, from its call to its end. */
export interface Subscription {
  readonly number: number;
  readonly client: string;
  readonly name: string;
  readonly selector: Selector;
  readonly after: Position | undefined;
  readonly invokedUs: number;
  /** Undefined when it was refused, or nothing came back. */
  scope: Scope | undefined;
  readonly items: FollowItem[];
}

export interface DefinitionTold {
  readonly databaseId: string;
  readonly outcome: DefinitionOutcome;
}

/** An entry that somebody has sent to define something in a database, and what was answered, if anything was. */
interface Defining {
  readonly name: string;
  readonly entry: DefinitionEntry;
  told: DefinitionTold | undefined;
}

/** Somebody has gone on with one copy of an instance, at this revision of it, and was told so. */
interface RecoveryTold {
  readonly before: string;
  readonly databaseId: string;
  readonly revision: number;
  /** Transactions that were in the log of that copy, acknowledged or not; absent: nobody has looked. */
  readonly held?: ReadonlySet<string>;
}

/** What was left of a cluster has become another one. */
interface RefoundingTold {
  /** When all of the old one had ended, and when the first of the new one began. */
  readonly endedUs: number;
  readonly beganUs: number;
}

export class History {
  readonly operations: AnyOperation[] = [];
  readonly definings: Defining[] = [];
  readonly recoveries: RecoveryTold[] = [];
  readonly refoundings: RefoundingTold[] = [];
  readonly subscriptions: Subscription[] = [];

  /** Unanswered for now: it may have its effect from here on. */
  begin<Kind extends CallKind>(
    client: string,
    kind: Kind,
    request: Calls[Kind]['request'],
    invokedUs: number,
  ): Operation<Kind> {
    const asked = { number: this.operations.length, kind, client, request, invokedUs };
    const unanswered = { isDoubled: false, returnedUs: Number.POSITIVE_INFINITY, session: undefined } as const;
    const operation: Operation<Kind> = { ...asked, ...unanswered, outcome: { kind: 'unknown' } };
    this.operations.push(operation as unknown as AnyOperation);
    return operation;
  }

  /** The operations of a kind, in the order of their invocation. */
  of<Kind extends CallKind>(kind: Kind): readonly Operation<Kind>[] {
    return this.operations.filter((operation): operation is AnyOperation & Operation<Kind> => operation.kind === kind);
  }
}
