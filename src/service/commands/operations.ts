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
  /** As it was asked for, and so is the version. */
  readonly name: string;
  /** Absent: the latest. */
  readonly version?: number | bigint | undefined;
  /** Undefined: `faults` say why. */
  readonly command: Command | undefined;
  /** What the transport has found wrong. */
  readonly faults: Faults;
}

export interface ExecuteCommandRequest extends AskedDecision, WriteRequest {
  /** Under which the transaction is recorded, and a repeat is recognised; minted when it is absent. */
  readonly batchId: string | undefined;
  /** The request's word for it. */
  readonly batchIdField: string;
  /** Nothing may have been committed since this revision; the command is decided at it, once. */
  readonly lastSeen?: AskedRevision | undefined;
  /** The command is decided at this revision, once. Not together with `lastSeen`. */
  readonly at?: ReadAt | undefined;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  readonly floor?: RevisionFloor | undefined;
  /** Ends the wait for an answer; what was handed to the log runs on. */
  readonly signal: AbortSignal;
}

/** What comes of a command; `commandError` makes an error of what is none. */
export type ExecuteCommandReply =
  | (ReadScope & { readonly kind: 'committed'; readonly transaction: RecordedTransaction })
  /** Decided on no event: nothing was committed. */
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

/** What a command would do, at the revision of the reply. */
export type DecideCommandReply =
  | (ReadScope & {
      readonly kind: 'decided';
      readonly version: DefinedVersion;
      /**
       * Where each would stand if nothing else were committed before, at the time that the clock of the component
       * showed, and with an id of this decision.
       */
      readonly events: readonly StoredEvent[];
      /** What would have to hold for them to be committed. */
      readonly guards: readonly Constraint[];
    })
  | Extract<ExecuteCommandReply, { readonly kind: 'refused' | 'failed' }>;
