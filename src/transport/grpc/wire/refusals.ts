/** Statuses of calls that the server itself refuses or ends, before or beside an operation. */
import { DatabaseError } from '#base';
import { Faults } from '#model';
import { noRoom, RETRY_AFTER_MS } from '../../byte-budgets.ts';
import type { FrameFault } from './frame-reader.ts';
import type { CallKind } from './method-traits.ts';
import type { EndReason, Refusals } from './parts.ts';
import type { CallStatus, GrpcStatusName } from './status.ts';

/** Returns the status of an error; `code` replaces that of the error. */
export type StatusOf = (error: DatabaseError, code?: GrpcStatusName) => CallStatus;

/** Why a connection was ended. */
export const ENDED: Readonly<Record<EndReason, string>> = {
  flood: 'Most calls that the client begins are cancelled or refused',
  frames: 'The client sends far more frames than those of its requests, such as WINDOW_UPDATE',
  headers: 'The client sends a request with far too many headers',
  pieces: 'The client sends its requests in far too many small pieces',
};

/** Words for a connection that has its share of the calls that a node serves at a time (T9). */
const SHARES = {
  waiting: {
    reason: 'TooManyWaitingCalls',
    calls: 'calls that wait (AwaitDatabase, SubscribeEvents, Watch of health)',
    remedy: 'end some of them, let callers share one, ask another node, or give this one more request-memory-bytes',
  },
  reading: {
    reason: 'TooManyStreamingReads',
    calls: 'streaming reads',
    remedy: 'read fewer at a time, ask another node, or give this one more request-memory-bytes',
  },
};

export function refusalsOf(callsMax: Readonly<Record<CallKind, number>>, statusOf: StatusOf): Refusals {
  const shareStatus = (kind: CallKind, has: string): CallStatus => {
    const { reason, calls, remedy } = SHARES[kind];
    const most = `of the ${callsMax[kind]} ${calls} that this node serves at a time`;
    const details = { reason, retryAfterMs: RETRY_AFTER_MS };
    return statusOf(new DatabaseError('rate_limited', `This connection ${has} ${most}: ${remedy}`, { details }));
  };
  const draining = 'The node is shutting down; try another one';
  const late = (message: string): CallStatus => {
    const error = new DatabaseError('unavailable', message, { details: { reason: 'DeadlineExceeded' } });
    return statusOf(error, 'DEADLINE_EXCEEDED');
  };
  return {
    draining: statusOf(new DatabaseError('unavailable', draining, { details: { reason: 'Draining' } })),
    tooManyCalls: (kind, count) => shareStatus(kind, `has its share, ${count},`),
    displaced: (kind, count) => shareStatus(kind, `had ${count}, more than another one that needed a place,`),
    noRoom: statusOf(noRoom()),
    malformed: (fault) => ({
      ...statusOf(errorOf(fault), fault.as),
      ...(fault.trailers && { trailers: fault.trailers }),
    }),
    late: late('The deadline had passed before the call was begun; nothing was done. Give it more time'),
    expired: (timeout) =>
      late(
        `The deadline has passed: the call had a grpc-timeout of ${timeout}. Give it more time; whether a write was done is not known, so repeat a transaction with the same transaction_id`,
      ),
  };
}

/** The error of a request that is refused before its message is read. */
function errorOf({ what, code = 'invalid_argument' }: FrameFault): DatabaseError {
  const details = { reason: 'MalformedFrame' };
  if (typeof what === 'string') return new DatabaseError(code, what, code === 'unimplemented' ? {} : { details });
  const faults = new Faults();
  faults.add(what.name, what.rule, what.value);
  return faults.toError('The headers are malformed').with(details);
}
