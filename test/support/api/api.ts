// Cairn as a client sees it, whichever interface it speaks: the same cases run over gRPC and over HTTP through this.
//
// Requests are the JSON that HTTP takes; the gRPC driver translates them. Answers are what both interfaces promise.

/** A CloudEvent in the JSON format, well-formed or not. */
export type JsonEvent = Readonly<Record<string, unknown>>;

export type TestSelector =
  | { readonly stream?: string; readonly type?: string; readonly subject?: string; readonly source?: string }
  | { readonly typePrefix: string }
  | { readonly streamPrefix: string }
  | { readonly subjectPrefix: string }
  | { readonly noSubject: true }
  | { readonly and: readonly TestSelector[] }
  | { readonly or: readonly TestSelector[] };

export type TestConstraint =
  | { readonly kind: 'min'; readonly revision: number; readonly selector?: TestSelector }
  | { readonly kind: 'max'; readonly revision: number; readonly selector?: TestSelector }
  | { readonly kind: 'range'; readonly start: number; readonly end: number; readonly selector?: TestSelector };

/** What an attribute is in CloudEvents where JSON spells it as text. */
export type TextType = 'uri' | 'uri-ref' | 'bytes' | 'timestamp';

export interface TestTransaction {
  readonly events: readonly JsonEvent[];
  /** The attributes of the events that are no strings, by name; for gRPC, since JSON cannot say it. */
  readonly types?: Readonly<Record<string, TextType>>;
  readonly constraints?: readonly TestConstraint[];
  readonly transactionId?: string;
}

export interface Committed {
  readonly kind: 'committed';
  readonly revision: number;
  /** Client id and stored id of every event, in order. */
  readonly ids: readonly (readonly [string, string])[];
}

export interface Refused {
  readonly kind: 'refused';
  /** The specified code, such as INVALID_ARGUMENT. */
  readonly code: string;
  readonly message: string;
  /** Places of the violated constraints, ascending. */
  readonly violated: readonly number[];
  /** Paths of the malformed fields. */
  readonly fields: readonly string[];
}

export interface ReadEvent {
  readonly revision: number;
  readonly index: number;
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string | undefined;
  /** RFC 3339, as it was written. */
  readonly time: string | undefined;
  /** The payload as text. */
  readonly data: string;
  /** Extension attributes by name. */
  readonly extensions: Readonly<Record<string, unknown>>;
}

export interface TestQuery {
  readonly selectors: readonly TestSelector[];
  readonly reverse?: boolean;
  readonly limit?: number;
}

export interface Api extends AsyncDisposable {
  readonly name: string;
  createDatabase(name: string): Promise<{ readonly kind: 'created' } | Refused>;
  deleteDatabase(name: string): Promise<{ readonly kind: 'deleted' } | Refused>;
  listDatabases(): Promise<readonly string[]>;
  /** The latest revision, or why there is none. */
  revision(database: string): Promise<{ readonly kind: 'at'; readonly revision: number } | Refused>;
  transact(database: string, transaction: TestTransaction): Promise<Committed | Refused>;
  query(database: string, query: TestQuery): Promise<readonly ReadEvent[]>;
}
