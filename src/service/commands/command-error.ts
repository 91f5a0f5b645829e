/** What a command has failed by, as the errors and codes that transports give. */
import { DatabaseError, type ErrorCode, type ErrorDetails } from '#base';
import type { CommandRefusalCode, DecisionFailureCode } from '#components';
import type { ExecuteCommandReply } from './operations.ts';

/** What is no transaction, in the words of errors. */
export type FailedCommand = Extract<ExecuteCommandReply, { readonly kind: 'refused' | 'failed' | 'conflict' }>;

const REFUSALS: Readonly<Record<CommandRefusalCode, ErrorCode>> = {
  ValidationFailed: 'invalid_argument',
  UnknownCommand: 'not_found',
  InvalidInput: 'invalid_argument',
  StateNotFound: 'not_found',
  InternalError: 'internal',
};

const FAILURES: Readonly<Record<DecisionFailureCode, ErrorCode>> = {
  ValidationError: 'invalid_argument',
  WasmExecutionError: 'internal',
  Busy: 'busy',
};

/** The reason of a refusal is the application's own word, where the component gives one. */
export function commandError(reply: FailedCommand): DatabaseError {
  const { databaseId, revision } = reply;
  const details: ErrorDetails = { reason: commandCode(reply), scope: { databaseId, revision } };
  switch (reply.kind) {
    case 'refused':
      return new DatabaseError(REFUSALS[reply.refusal.code], reply.refusal.message, { details });
    case 'failed':
      return new DatabaseError(FAILURES[reply.failure.code], reply.failure.message, { details });
    case 'conflict':
      return new DatabaseError('constraint_violated', reply.message, {
        details: { ...details, constraints: reply.violations },
      });
  }
}

/** The finest code that there is. */
export function commandCode(reply: FailedCommand): string {
  switch (reply.kind) {
    case 'refused':
      return reply.refusal.reason ?? reply.refusal.code;
    case 'failed':
      return reply.failure.code;
    case 'conflict':
      return 'ConcurrencyConflict';
  }
}
