/** Requests and replies of the operations that run State Changes. */
import type { AskedRevision, ConstraintViolation } from '#base';
import type { CommandRefusal, DecisionFailure } from '#components';
import type { Command, Constraint, DefinedVersion, Faults, Origin, TransactionOptions } from '#model';
import type { StoredEvent } from '#query';
import type {
  ReadAt,
  ReadRequest,
  ReadScope,
  RecordedTransaction,
  RevisionFloor,
  WriteRequest,
} from '../operations.ts';

/** A command for a State Change. */
export interface AskedDecision {
  readonly databaseName: string;
  /** The name in the request, not validated yet; the same holds for the version. */
  readonly name: string;
  /** Absent: the latest. */
  readonly version?: number | bigint | undefined;
  /** Undefined when it is invalid; `faults` has the reasons. */
  readonly command: Command | undefined;
  /** Faults that the transport has found. */
  readonly faults: Faults;
}

export interface ExecuteCommandRequest extends AskedDecision, WriteRequest {
  /** Id under which the transaction is recorded and a repeat is recognized; created when it is absent. */
  readonly batchId: string | undefined;
  /** Name of the id in the request, for error messages. */
  readonly batchIdField: string;
  /** Nothing may have been committed since this revision; the command is decided once, at this revision. */
  readonly lastSeen?: AskedRevision | undefined;
  /** The command is decided once, at this revision. Not together with `lastSeen`. */
  readonly at?: ReadAt | undefined;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  readonly floor?: RevisionFloor | undefined;
  /** Ends the wait for an answer; a proposed transaction continues. */
  readonly signal: AbortSignal;
}

/** Result of a command; `commandError` converts failures to errors. */
export type ExecuteCommandReply =
  | (ReadScope & { readonly kind: 'committed'; readonly transaction: RecordedTransaction })
  /** The decision has no events: nothing was committed. */
  | (ReadScope & { readonly kind: 'nothing' })
  | (ReadScope & { readonly kind: 'refused'; readonly refusal: CommandRefusal })
  | (ReadScope & { readonly kind: 'failed'; readonly failure: DecisionFailure })
  | (ReadScope & {
      readonly kind: 'conflict';
      readonly message: string;
      readonly violations: readonly ConstraintViolation[];
    });

export interface DecideCommandRequest extends AskedDecision, ReadRequest {
  readonly at: ReadAt;
}

/** The decision of a command at the revision of the reply. */
export type DecideCommandReply =
  | (ReadScope & {
      readonly kind: 'decided';
      readonly version: DefinedVersion;
      /**
       * The positions that the events would get if nothing else were committed before, with the time of the component's
       * clock and ids of this decision.
       */
      readonly events: readonly StoredEvent[];
      /** Constraints that would have to hold for them to be committed. */
      readonly guards: readonly Constraint[];
    })
  | Extract<ExecuteCommandReply, { readonly kind: 'refused' | 'failed' }>;
