/**
 * Faults: why a call of a guest gave no answer.
 *
 * A fault has a code, a message, and the resources that the call used. An error that the guest itself returns is a
 * value, not a fault. docs/components.md lists the codes.
 */

/** Every fault code, in the order of docs/components.md. */
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
  /** Milliseconds until a call may succeed; absent when unknown. */
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
