/**
 * What is asked of a State Change, and answered.
 *
 * A decision is a function of its `DecisionAsk` and of what it reads of the database at one revision. Everything else
 * that it could depend on (the clock, random numbers, which version a name of a State View stands for, up to which
 * effective time views are read) is a part of the question, and the same at every attempt.
 */
import type { ConstraintViolation, Instant } from '#base';
import type { Command, Constraint, StateViewDefinition } from '#model';
import type { Traced } from '#observability';
import type { DatabaseSource, StoredTransaction } from '#query';
import type { RunnableArtifact } from './artifact-store.ts';
import type { ViewTitle } from './sdk-values.ts';

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
  readonly title?: ViewTitle | undefined;
  readonly definition: StateViewDefinition;
  readonly foldEpoch: number;
  readonly artifact: RunnableArtifact;
  /** The view was read with these values. */
  readonly onRead?: ((parameters: ReadonlyMap<string, string>) => Promise<void>) | undefined;
}

export interface DecisionAsk extends Traced {
  readonly database: DecidingDatabase;
  /** Name and version, for messages. */
  readonly change: string;
  /** What a component of the SDK's shape is told of itself. */
  readonly title?: { readonly name: string; readonly version: number } | undefined;
  /** The revision that whoever sent the command has seen, and that it is decided at. */
  readonly lastSeen?: number | undefined;
  readonly artifact: RunnableArtifact;
  readonly command: Command;
  /**
   * This version of a name, or the one that is read under it; undefined when there is none. Asked once for each.
   */
  readonly findView: (name: string, version?: number) => Promise<ReadableView | undefined>;
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

/** Command errors of the specification, and two that only components of the SDK's shape have. */
export const REFUSAL_CODES = [
  'ValidationFailed',
  'UnknownCommand',
  'InvalidInput',
  'StateNotFound',
  'InternalError',
  'Conflict',
  'Unauthorized',
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

/** `ValidationError`: what is emitted cannot be stored. `Quarantined`: a component is not called for a while. */
export type DecisionFailureCode = 'ValidationError' | 'WasmExecutionError' | 'Busy' | 'Quarantined';

/** There is no decision: neither events nor a refusal. */
export interface DecisionFailure {
  readonly kind: 'failed';
  readonly code: DecisionFailureCode;
  readonly message: string;
  /** After which it may be asked again; undefined: nobody knows. */
  readonly retryAfterMs?: number | undefined;
}

export function decisionFailure(code: DecisionFailureCode, message: string, retryAfterMs?: number): DecisionFailure {
  return { kind: 'failed', code, message, retryAfterMs };
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
