/** Failures of components, and their texts in errors, limited because gRPC trailers have room for a few KiB. */
import { cut } from '#base';
import type { Fault } from '#wasm';

/** `Quarantined`: the component is not called for a while. */
export type GuestFailureCode = 'WasmExecutionError' | 'Busy' | 'Quarantined';

export interface Failure<Code extends string> {
  readonly kind: 'failed';
  readonly code: Code;
  readonly message: string;
  /** Time after which a retry may succeed; undefined when it is unknown. */
  readonly retryAfterMs?: number | undefined;
}

export function failed<Code extends string>(code: Code, message: string, retryAfterMs?: number): Failure<Code> {
  return { kind: 'failed', code, message, retryAfterMs };
}

export function failedBy({ code, message, retryAfterMs }: Fault): Failure<GuestFailureCode> {
  if (code === 'Busy' || code === 'Quarantined') return failed(code, message, retryAfterMs);
  return failed('WasmExecutionError', `${code}: ${message}`);
}

const TEXT_LENGTH_MAX = 800;
const CODE_LENGTH_MAX = 128;

/** A sentence; if it is too long it is cut, and its length is added. */
export function guestText(text: string): string {
  return cut(text, TEXT_LENGTH_MAX);
}

/** An error code of the component. */
export function guestCode(text: string): string {
  return cut(text, CODE_LENGTH_MAX);
}
