/** Errors for a connection that has its share of the calls that a node serves at a time (T9). */
import { DatabaseError } from '#base';
import { RETRY_AFTER_MS } from '../byte-budgets.ts';
import { statusOfError } from './error-status.ts';
import type { CallKind } from './wire/method-traits.ts';
import type { Refusals } from './wire/parts.ts';

interface Words {
  readonly reason: string;
  /** Name of the calls of this kind. */
  readonly calls: string;
  readonly remedy: string;
}

const WORDS: Readonly<Record<CallKind, Words>> = {
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

export function shareRefusals(
  callsMax: Readonly<Record<CallKind, number>>,
): Pick<Refusals, 'tooManyCalls' | 'displaced'> {
  const refusal = (kind: CallKind, has: string): DatabaseError => {
    const { reason, calls, remedy } = WORDS[kind];
    const most = `of the ${callsMax[kind]} ${calls} that this node serves at a time`;
    const message = `This connection ${has} ${most}: ${remedy}`;
    return new DatabaseError('rate_limited', message, { details: { reason, retryAfterMs: RETRY_AFTER_MS } });
  };
  return {
    tooManyCalls: (kind, count) => statusOfError(refusal(kind, `has its share, ${count},`)),
    displaced: (kind, count) =>
      statusOfError(refusal(kind, `had ${count}, more than another one that needed a place,`)),
  };
}
