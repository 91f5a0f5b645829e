/** Statuses of calls that the server itself refuses or ends, before or beside an operation. */
import { DatabaseError } from '#base';
import { Faults } from '#model';
import { noRoom, RETRY_AFTER_MS } from '../byte-budgets.ts';
import { statusOfError } from './error-status.ts';
import type { FrameFault } from './wire/frame-faults.ts';
import type { CallKind } from './wire/method-traits.ts';
import type { Refusals } from './wire/parts.ts';
import type { CallStatus } from './wire/status.ts';

/** Words for a connection that has its share of the calls that a node serves at a time (T9). */
interface ShareWords {
  readonly reason: string;
  /** Name of the calls of this kind. */
  readonly calls: string;
  readonly remedy: string;
}

const SHARES: Readonly<Record<CallKind, ShareWords>> = {
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

export function refusalsOf(callsMax: Readonly<Record<CallKind, number>>): Refusals {
  const shareStatus = (kind: CallKind, has: string): CallStatus => {
    const { reason, calls, remedy } = SHARES[kind];
    const most = `of the ${callsMax[kind]} ${calls} that this node serves at a time`;
    const message = `This connection ${has} ${most}: ${remedy}`;
    return statusOfError(
      new DatabaseError('rate_limited', message, { details: { reason, retryAfterMs: RETRY_AFTER_MS } }),
    );
  };
  const draining = 'The node is shutting down; try another one';
  return {
    draining: statusOfError(new DatabaseError('unavailable', draining, { details: { reason: 'Draining' } })),
    tooManyCalls: (kind, count) => shareStatus(kind, `has its share, ${count},`),
    displaced: (kind, count) => shareStatus(kind, `had ${count}, more than another one that needed a place,`),
    noRoom: statusOfError(noRoom()),
    malformed: statusOfFrame,
    late: statusOfLate('The deadline had passed before the call was begun; nothing was done. Give it more time'),
    expired: (timeout) =>
      statusOfLate(
        `The deadline has passed: the call had a grpc-timeout of ${timeout}. Give it more time; whether a write was done is not known, so repeat a transaction with the same transaction_id`,
      ),
  };
}

function statusOfLate(message: string): CallStatus {
  const error = new DatabaseError('unavailable', message, { details: { reason: 'DeadlineExceeded' } });
  return statusOfError(error, 'DEADLINE_EXCEEDED');
}

/** The status of a request that is refused before its message is read. */
export function statusOfFrame(fault: FrameFault): CallStatus {
  const { as, trailers } = fault;
  const status = statusOfError(errorOf(fault), as);
  return trailers === undefined ? status : { ...status, trailers };
}

function errorOf({ what, code = 'invalid_argument' }: FrameFault): DatabaseError {
  const details = { reason: 'MalformedFrame' };
  if (typeof what === 'string') return new DatabaseError(code, what, code === 'unimplemented' ? {} : { details });
  const faults = new Faults();
  faults.add(what.name, what.rule, what.value);
  return faults.toError('The headers are malformed').with(details);
}
