/**
 * The outcome of an operation that may fail, as a value: returning it is cheap, where throwing creates a stack. Use it
 * for parsers and hot paths; use `DatabaseError` where an operation fails for its caller.
 */

export interface Ok<Value> {
  readonly kind: 'ok';
  readonly value: Value;
}

export interface Failure<Reason> {
  readonly kind: 'failure';
  readonly reason: Reason;
}

export type Result<Value, Reason> = Ok<Value> | Failure<Reason>;

export function ok<Value>(value: Value): Ok<Value> {
  return { kind: 'ok', value };
}

export function failure<Reason>(reason: Reason): Failure<Reason> {
  return { kind: 'failure', reason };
}
