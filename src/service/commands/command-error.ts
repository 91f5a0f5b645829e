/** Converts a failed command to the errors and codes of transports. */
import { DatabaseError, type ErrorCode, type ErrorDetails } from '#base';
import type { CommandRefusal, CommandRefusalCode } from '#components';
import { componentFailed } from '../errors.ts';
import type { DecideCommandReply, ExecuteCommandReply } from './operations.ts';

/** Replies without a transaction that are errors. */
export type FailedCommand = Extract<ExecuteCommandReply, { readonly kind: 'refused' | 'failed' | 'conflict' }>;

const REFUSALS: Readonly<Record<CommandRefusalCode, ErrorCode>> = {
  ValidationFailed: 'invalid_argument',
  UnknownCommand: 'not_found',
  InvalidInput: 'invalid_argument',
  StateNotFound: 'not_found',
  InternalError: 'internal',
  Conflict: 'constraint_violated',
  Unauthorized: 'permission_denied',
};

/** The reason of a refusal is that of the application, if the component gives one. */
export function commandError(reply: FailedCommand): DatabaseError {
  const { databaseId, revision } = reply;
  const details: ErrorDetails = { reason: commandCode(reply), scope: { databaseId, revision } };
  switch (reply.kind) {
    case 'refused':
      return refusedError(reply.refusal, details);
    case 'failed':
      return componentFailed(reply, reply.failure);
    case 'conflict':
      return new DatabaseError('constraint_violated', reply.message, {
        details: { ...details, constraints: reply.violations },
      });
  }
}

function refusedError(
  { code, message, details: own }: Omit<CommandRefusal, 'at'>,
  details: ErrorDetails,
): DatabaseError {
  const ownDetails = own === undefined ? {} : { refusalDetails: own };
  return new DatabaseError(REFUSALS[code], message, { details: { ...details, ...ownDetails } });
}

/** A command that was not decided for a temporary reason; this is not a decision of its State Change. */
export function undecidedError(reply: ExecuteCommandReply | DecideCommandReply): DatabaseError | undefined {
  if (reply.kind !== 'failed') return undefined;
  return reply.failure.code === 'Busy' || reply.failure.code === 'Quarantined' ? commandError(reply) : undefined;
}

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
