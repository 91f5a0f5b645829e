/**
 * What is asked of a State Change, and answered.
 *
 * A decision is a function of its `DecisionAsk` and of what it reads of the database at one revision. Everything else
 * that it could depend on (the clock, random numbers, which version a name of a State View stands for, up to which
 * effective time views are read) is a part of the question, and the same at every attempt.
 */
import type { ConstraintViolation, Instant } from '#base';
import type { Command, Constraint, StateViewDefinition } from '#model';
import type { DatabaseSource, StoredTransaction } from '#query';
import type { RunnableArtifact } from './artifact-store.ts';

/** The database that is read and written. */
export interface DecidingDatabase {
  readonly name: string;
  readonly databaseId: string;
  readonly source: DatabaseSource;
}

/** A version of a State View, as a decision finds it by the view's name. */
export interface ReadableView {
  /** Name and version. */
  readonly view: string;
  readonly definition: StateViewDefinition;
  readonly foldEpoch: number;
  readonly artifact: RunnableArtifact;
}

export interface DecisionAsk {
  readonly database: DecidingDatabase;
  /** Name and version, for messages. */
  readonly change: string;
  readonly artifact: RunnableArtifact;
  readonly command: Command;
  /** The version that is read under a name, or undefined when there is none. Asked once for each name. */
  readonly findView: (name: string) => Promise<ReadableView | undefined>;
  /** Aborts when nobody waits for the decision any longer. Default: somebody does. */
  readonly signal?: AbortSignal | undefined;
  /** What the clock of the guest shows. */
  readonly receivedAtMs: number;
  /** Up to which time views in the order of effective time are read. Default: `receivedAtMs`. */
  readonly cut?: Instant | undefined;
  /** What the guest's random numbers follow from. */
  readonly seed: bigint;
  /** The id of the event at this place among those that are emitted, where the component gives it none. */
  readonly mintId: (index: number) => string;
}

/** Command errors of the specification. */
export const REFUSAL_CODES = [
  'ValidationFailed',
  'UnknownCommand',
  'InvalidInput',
  'StateNotFound',
  'InternalError',
] as const;
export type CommandRefusalCode = (typeof REFUSAL_CODES)[number];

/** The component says no: an answer, not an error. */
export interface CommandRefusal {
  readonly kind: 'refused';
  /** The revision that was decided at. */
  readonly at: number;
  readonly code: CommandRefusalCode;
  readonly message: string;
  /** A word of the application's own, such as the name of a rule. */
  readonly reason: string | undefined;
  /** JSON. */
  readonly details: string | undefined;
}

/** `ValidationError`: what the component emits cannot be stored. */
export type DecisionFailureCode = 'ValidationError' | 'WasmExecutionError' | 'Busy';

/** There is no decision: neither events nor a refusal. */
export interface DecisionFailure {
  readonly kind: 'failed';
  readonly code: DecisionFailureCode;
  readonly message: string;
}

export function decisionFailure(code: DecisionFailureCode, message: string): DecisionFailure {
  return { kind: 'failed', code, message };
}

export interface Decided {
  readonly kind: 'decided';
  readonly at: number;
  /** Canonical wire form, each with an id. */
  readonly events: readonly Uint8Array[];
  /** What has to hold for them to be committed: that nothing which was read has changed since `at`. */
  readonly guards: readonly Constraint[];
}

export type Decision = Decided | CommandRefusal | DecisionFailure;

/** What comes of a command that is to be committed. */
export type Execution =
  | {
      readonly kind: 'committed';
      readonly transaction: StoredTransaction;
      /** True: it was recorded under this transaction id before, and nothing was decided or committed now. */
      readonly isReplayed: boolean;
      readonly attempts: number;
    }
  /** Decided on no event: nothing was committed, and nothing is recorded. */
  | { readonly kind: 'nothing'; readonly at: number; readonly attempts: number }
  | CommandRefusal
  | DecisionFailure
  | ConcurrencyConflict;

/** What was read has changed, and the command is not tried again. */
export interface ConcurrencyConflict {
  readonly kind: 'conflict';
  readonly message: string;
  /** Of the database, where the conflict was found. */
  readonly revision: number;
  readonly violations: readonly ConstraintViolation[];
  readonly attempts: number;
}
