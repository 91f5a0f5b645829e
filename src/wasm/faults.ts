/**
 * Why a call of a guest gave no answer.
 *
 * A fault is an answer like a refusal: a code, a sentence, and what is known of the call. What a guest says for itself,
 * as the error of a result, is no fault: that is a value. docs/components.md lists the codes.
 */

/** Every code of a call, in the order of docs/components.md. */
export const FAULT_CODES = [
  'Trap',
  'StackOverflow',
  'FuelExhausted',
  'MemoryLimit',
  'OutputTooLarge',
  'AbiViolation',
  'Denied',
  'HostCallLimit',
  'HostCallFailed',
  'NotInstantiable',
  'DeadlineExceeded',
  'ExecutorLost',
  'Quarantined',
  'Busy',
  'Cancelled',
] as const;

export type FaultCode = (typeof FAULT_CODES)[number];

export interface Fault {
  readonly code: FaultCode;
  readonly message: string;
  /** Milliseconds until a call may give an answer; only where that is known. */
  readonly retryAfterMs?: number;
}

/** Carries a fault out of a call. It passes through the guest, which cannot catch it. */
export class Faulted extends Error {
  override readonly name = 'Faulted';
  readonly fault: Fault;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.fault = { code, message };
  }
}

export function abiViolation(message: string): Faulted {
  return new Faulted('AbiViolation', message);
}
