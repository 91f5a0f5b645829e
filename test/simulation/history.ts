// The history of a run: the requests of clients, the answers and their times. Checks use nothing else, and nothing in
// it comes from inside a node.
//
// An operation is invoked at a time and returns later, or never. In the latter case its outcome is unknown: it may take
// effect once at any time after its invocation, or not at all. Times are virtual microseconds.
import type { DefinitionOutcome } from '#cluster';
import type { Constraint, DefinitionEntry, Direction, EventQuery, Position, Selector } from '#model';

/** An event as a client sends it. */
export interface EventSketch {
  readonly id: string;
  readonly stream: string;
  readonly type: string;
  readonly subject?: string | undefined;
  /** Effective time in milliseconds since 1970; without one, the recorded time counts. */
  readonly timeMs?: number;
  /** The payload: this text, followed by zeros. */
  readonly text: string;
  readonly zeros: number;
}

/** An event as a client receives it; `id` is the stored id. */
export interface EventSeen extends EventSketch {
  readonly revision: number;
  readonly index: number;
  readonly recordedTimeMs: number;
}

/** A transaction as the log returns it. */
export interface TransactionSeen {
  readonly revision: number;
  readonly transactionId: string;
  readonly recordedTimeMs: number;
  readonly totalEvents: number;
  /** Hexadecimal. */
  readonly chainHash: string;
  readonly storedIds: readonly (readonly [index: number, id: string])[];
  /** With the ids that the client sent. */
  readonly events: readonly EventSketch[];
  /** The hashed bytes. */
  readonly body: Uint8Array;
}

/** Instance and revision in an answer. */
export interface Scope {
  readonly databaseId: string;
  readonly revision: number;
}

/** Revision that a read requests. */
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

/** For each kind of call, its request and the value of a success. */
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
    /** The deleted instance, if any. */
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
  /** A database at a recorded time. */
  asOf: {
    request: { readonly name: string; readonly timeMs: number };
    value: Calls['describe']['value'];
  };
  query: {
    request: ReadRequest & { readonly query: EventQuery };
    value: Scope & { readonly events: readonly EventSeen[] };
  };
  /** A transaction by its id, at the latest revision. */
  fetch: {
    request: { readonly name: string; readonly transactionId: string };
    value: Scope & { readonly transaction: TransactionSeen };
  };
  /** Whole transactions, at the latest revision. */
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
      /** Instance and revision at which the request was evaluated, if any. */
      readonly scope?: Scope | undefined;
    }
  | { readonly kind: 'unknown' };

export interface Operation<Kind extends CallKind> {
  readonly number: number;
  readonly kind: Kind;
  readonly client: string;
  readonly request: Calls[Kind]['request'];
  readonly invokedUs: number;
  /** The network duplicated the request, so the answer to one copy says nothing about the other. */
  isDoubled: boolean;
  /** Infinite while there is no answer, and forever without one. */
  returnedUs: number;
  /** The connection of the answer; undefined without an answer. */
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
  /** Undefined when it was refused or got no answer. */
  scope: Scope | undefined;
  readonly items: FollowItem[];
}

export interface DefinitionTold {
  readonly databaseId: string;
  readonly outcome: DefinitionOutcome;
}

/** A definition entry that a client has sent, with the answer if there was one. */
interface Defining {
  readonly name: string;
  readonly entry: DefinitionEntry;
  told: DefinitionTold | undefined;
}

/** A recovery that succeeded with one replica of an instance, at this revision. */
interface RecoveryTold {
  readonly before: string;
  readonly databaseId: string;
  readonly revision: number;
  /** Ids of transactions in the log of that replica, acknowledged or not; absent when the log was not read. */
  readonly held?: ReadonlySet<string>;
}

/** A new cluster was founded from the remains of another one. */
interface RefoundingTold {
  /** End of the last node of the old cluster, and start of the first node of the new one. */
  readonly endedUs: number;
  readonly beganUs: number;
}

export class History {
  readonly operations: AnyOperation[] = [];
  readonly definings: Defining[] = [];
  readonly recoveries: RecoveryTold[] = [];
  readonly refoundings: RefoundingTold[] = [];
  readonly subscriptions: Subscription[] = [];

  /** Adds an operation without an answer: it may take effect from now on. */
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

  /** The operations of a kind, in order of invocation. */
  of<Kind extends CallKind>(kind: Kind): readonly Operation<Kind>[] {
    return this.operations.filter((operation): operation is AnyOperation & Operation<Kind> => operation.kind === kind);
  }
}
