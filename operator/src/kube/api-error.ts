/** Errors that the API server answers with, and what they mean for whoever sends the request again. */
import { parseJson } from './json.ts';

/** What the server says about an error. */
export interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly Cause[]; readonly retryAfterSeconds?: number };
}

interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** A field that a server-side apply would have taken from another field manager. */
export interface FieldConflict {
  readonly field: string;
  readonly manager: string;
}

const GONE = 410;
const TOO_MANY = 429;
const INVALID: readonly number[] = [400, 422];
/** Server-side apply answers 500 for a field that the schema does not have. */
const UNKNOWN_FIELD = 'field not declared in schema';
/** Wait after an error that stays until somebody changes something: an event tells of that earlier. */
const TERMINAL_RETRY_MS = 60_000;
/** Longest time that a server may ask for. */
const RETRY_AFTER_MS_MAX = 60_000;

export class ApiError extends Error {
  readonly code: number;
  /** Such as `Conflict`. */
  readonly reason: string;
  readonly #causes: readonly Cause[];
  readonly #serverRetryMs: number;

  constructor(what: string, code: number, text: string, retryAfter?: string) {
    const { message = text.slice(0, 300), reason = '', details = {} } = statusOf(text);
    super(`${what}: ${code} ${message}`);
    this.code = code;
    this.reason = reason;
    this.#causes = details.causes ?? [];
    const seconds = Number(retryAfter ?? details.retryAfterSeconds ?? 0);
    this.#serverRetryMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : 0;
  }

  /** The request was not carried out, because the server has too much to do. */
  get isThrottled(): boolean {
    return this.code === TOO_MANY;
  }

  /** The server does not have the version of the request: it is too old, or one that it never reached. */
  get isVersionLost(): boolean {
    return this.code === GONE || this.#causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
  }

  /** The same request fails again until somebody changes the request, the schema or the object. */
  get isTerminal(): boolean {
    return INVALID.includes(this.code) || (this.code === 500 && this.message.includes(UNKNOWN_FIELD));
  }

  /** Least time before the request is worth sending again. */
  get retryAfterMs(): number {
    return this.isTerminal ? TERMINAL_RETRY_MS : this.#serverRetryMs;
  }

  /** Who owns the fields that a server-side apply was refused for. */
  get conflicts(): readonly FieldConflict[] {
    return this.#causes
      .filter(({ reason }) => reason === 'FieldManagerConflict')
      .map(({ field = '', message = '' }) => ({ field, manager: /conflict with "([^"]*)"/.exec(message)?.[1] ?? '' }));
  }
}

/** Takes these answers for success: for `catch`. */
export function unless(...codes: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
    return undefined;
  };
}

export function hasCode(error: unknown, ...codes: readonly number[]): error is ApiError {
  return error instanceof ApiError && codes.includes(error.code);
}

/** Least time that an error asks for before another attempt. */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? error.retryAfterMs : 0;
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function statusOf(text: string): Status {
  try {
    return parseJson(text);
  } catch {
    return {};
  }
}
