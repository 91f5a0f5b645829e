/** Statuses of requests that are refused before their message is read. */
import { DatabaseError } from '#base';
import { Faults } from '#model';
import { statusOfError } from './error-status.ts';
import type { FrameFault } from './wire/frame-faults.ts';
import type { CallStatus } from './wire/status.ts';

/** The `reason` in addition to our code. */
const DETAILS = { reason: 'MalformedFrame' };

export function statusOfFrame(fault: FrameFault): CallStatus {
  const { as, trailers } = fault;
  const status = statusOfError(errorOf(fault), as);
  return trailers === undefined ? status : { ...status, trailers };
}

function errorOf({ what, code = 'invalid_argument' }: FrameFault): DatabaseError {
  if (typeof what === 'string')
    return new DatabaseError(code, what, code === 'unimplemented' ? {} : { details: DETAILS });
  const faults = new Faults();
  faults.add(what.name, what.rule, what.value);
  return faults.toError('The headers are malformed').with(DETAILS);
}
