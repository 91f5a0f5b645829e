/** Input and result of a presenter call. */
import { DatabaseError } from '#base';
import { type Fault, isRecord, type JobOutcome, type Value, type ValueList } from '#wasm';
import type { RunnableArtifact } from './artifact-store.ts';
import { guestText } from './guest-failures.ts';

export interface PresentationAsked {
  readonly artifact: RunnableArtifact;
  readonly database: string;
  readonly databaseId: string;
  readonly revision: number;
  readonly view: string;
  readonly version: number;
  /** One of the content types that the presenter offers. */
  readonly contentType: string;
  /** Query parameters without the cut, in the order of the request. */
  readonly parameters: ReadonlyMap<string, string>;
  /** JSON. */
  readonly settings?: string | undefined;
  /** The rendered state. */
  readonly state: Uint8Array;
  /** Timeout of the first chunk, from now. */
  readonly firstMs: number;
  /** Timeout of the whole body, from now. */
  readonly wholeMs: number;
}

/** The arguments of `present`. */
export function presentValues(asked: PresentationAsked): ValueList {
  const { database, databaseId, revision, view, version, contentType, parameters, settings, state } = asked;
  const presentation = {
    database,
    'database-id': databaseId,
    revision: BigInt(revision),
    view,
    version,
    'content-type': contentType,
    parameters: [...parameters],
    settings,
  };
  return [presentation, state];
}

/** Returns the error of a failed or incomplete presentation; undefined when it is complete. */
export function failureIn(outcome: JobOutcome): DatabaseError | undefined {
  if (outcome.kind === 'fault') return faultError(outcome.fault);
  const { tag, val } = isRecord(outcome.value) ? outcome.value : { tag: undefined, val: undefined };
  return tag === 'ok' ? undefined : saidError(val);
}

function faultError({ code, message, retryAfterMs }: Fault): DatabaseError {
  const details = { reason: code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  if (code === 'Busy') return new DatabaseError('busy', message, { details });
  if (code === 'Quarantined') return new DatabaseError('unavailable', message, { details });
  if (code === 'DeadlineExceeded') return new DatabaseError('unavailable', `The presenter: ${message}`, { details });
  return presenterError(`${code}: ${message}`);
}

/** Converts the variant `present-error` of cairn.wit. */
function saidError(said: Value): DatabaseError {
  const { tag, val } = isRecord(said) ? said : { tag: undefined, val: undefined };
  const message = `The presenter refuses: ${typeof val === 'string' ? guestText(val) : 'no reason given'}`;
  if (tag === 'invalid-input') {
    return new DatabaseError('invalid_argument', message, { details: { reason: 'InvalidInput' } });
  }
  if (tag === 'not-found') return new DatabaseError('not_found', message, { details: { reason: 'NotFound' } });
  return presenterError(message);
}

/** An error that the author of the presenter must fix. */
export function presenterError(message: string): DatabaseError {
  return new DatabaseError('internal', message, { details: { reason: 'WasmExecutionError' } });
}
