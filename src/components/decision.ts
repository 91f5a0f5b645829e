/**
 * Inputs and results of a decision of a State Change.
 *
 * A decision is a function of its `DecisionAsk` and of its reads of the database at one revision. Everything else (the
 * clock, random numbers, the versions of State Views, the effective time of reads) is part of the `DecisionAsk`, and
 * the same at every attempt.
 */
import type { ConstraintViolation, Instant } from '#base';
import type { Command, Constraint, StateViewDefinition } from '#model';
import type { Traced } from '#observability';
import type { DatabaseSource, StoredTransaction } from '#query';
import type { RunnableArtifact } from './artifact-store.ts';
import type { Failure, GuestFailureCode } from './guest-failures.ts';
import type { ViewTitle } from './sdk-values.ts';

/** The database of the decision. */
export interface DecidingDatabase {
  readonly name: string;
  readonly databaseId: string;
  readonly source: DatabaseSource;
}

/** A version of a State View that a decision may read by name. */
export interface ReadableView {
  /** Name and version. */
  readonly view: string;
  readonly title?: ViewTitle | undefined;
  readonly definition: StateViewDefinition;
  readonly foldEpoch: number;
  readonly artifact: RunnableArtifact;
  /** Called after a read of the view with these values. */
  readonly onRead?: ((parameters: ReadonlyMap<string, string>) => Promise<void>) | undefined;
}

export interface DecisionAsk extends Traced {
  readonly database: DecidingDatabase;
  /** Name and version, for messages. */
  readonly change: string;
  /** Name and version for components of the SDK's shape. */
  readonly title?: { readonly name: string; readonly version: number } | undefined;
  /** The revision that the sender of the command has seen, at which it is decided. */
  readonly lastSeen?: number | undefined;
  readonly artifact: RunnableArtifact;
  readonly command: Command;
  /**
   * Finds a version of a view, by default the version served under the name; undefined when there is none. Called
   * once per name.
   */
  readonly findView: (name: string, version?: number) => Promise<ReadableView | undefined>;
  /** Aborts when the decision is no longer needed. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** Time of the guest's clock. */
  readonly receivedAtMs: number;
  /** Effective time of reads from views in that order. Default: `receivedAtMs`. */
  readonly cut?: Instant | undefined;
  /** Seed of the guest's random numbers. */
  readonly seed: bigint;
  /** Creates the id of an emitted event without one, by its index. */
  readonly mintId: (index: number) => string;
}

/** Command errors of the specification, and two that only components of the SDK's shape use. */
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

/** The component refuses the command, which is a valid answer. */
export interface CommandRefusal {
  readonly kind: 'refused';
  /** Revision of the decision. */
  readonly at: number;
  readonly code: CommandRefusalCode;
  readonly message: string;
  /** A reason of the application, such as the name of a rule. */
  readonly reason: string | undefined;
  /** JSON. */
  readonly details: string | undefined;
}

/** `ValidationError`: the emitted events cannot be stored. */
export type DecisionFailureCode = GuestFailureCode | 'ValidationError';
/** There is no decision. */
export type DecisionFailure = Failure<DecisionFailureCode>;

export interface Decided {
  readonly kind: 'decided';
  readonly at: number;
  /** Events in canonical wire form, each with an id. */
  readonly events: readonly Uint8Array[];
  /** Constraints for the commit: no read has changed since `at`. */
  readonly guards: readonly Constraint[];
}

export type Decision = Decided | CommandRefusal | DecisionFailure;

/** Result of a command that is to be committed. */
export type Execution =
  | {
      readonly kind: 'committed';
      readonly transaction: StoredTransaction;
      /** True: it was recorded under this transaction id before, and nothing was decided or committed now. */
      readonly isReplayed: boolean;
      readonly attempts: number;
    }
  /** The decision has no events: nothing was committed or recorded. */
  | { readonly kind: 'nothing'; readonly at: number; readonly attempts: number }
  | CommandRefusal
  | DecisionFailure
  | ConcurrencyConflict;

/** A read has changed, and the command is not tried again. */
export interface ConcurrencyConflict {
  readonly kind: 'conflict';
  readonly message: string;
  /** Revision of the database at the conflict. */
  readonly revision: number;
  readonly violations: readonly ConstraintViolation[];
  readonly attempts: number;
}
