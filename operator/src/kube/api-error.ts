/** Error responses of the API server, and what each means for a retry. */
export interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string }[]; readonly retryAfterSeconds?: number };
}

const GONE = 410;
const TOO_MANY = 429;
const INVALID: readonly number[] = [400, 422];
/** Server-side apply returns 500 for a field that is not in the schema. */
const UNKNOWN_FIELD = 'field not declared in schema';
/** Wait after a terminal error. A change of the object arrives earlier, through its watch. */
const TERMINAL_RETRY_MS = 60_000;
/** Upper limit for the Retry-After of a server. */
const RETRY_AFTER_MS_MAX = 60_000;

export class ApiError extends Error {
  readonly code: number;
  /** Such as `Conflict`. */
  readonly reason: string;
  /** The server does not have the requested version: it was compacted, or the server has not reached it. */
  readonly isVersionLost: boolean;
  readonly #serverRetryMs: number;

  constructor(what: string, code: number, text: string, retryAfter?: string) {
    const { message = text.slice(0, 300), reason = '', details = {} } = statusOf(text);
    super(`${what}: ${code} ${message}`);
    this.code = code;
    this.reason = reason;
    const isTooLarge = details.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') ?? false;
    this.isVersionLost = code === GONE || isTooLarge;
    const seconds = Number(retryAfter ?? details.retryAfterSeconds ?? 0);
    this.#serverRetryMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : 0;
  }

  /** The server did not execute the request, because it is overloaded. */
  get isThrottled(): boolean {
    return this.code === TOO_MANY;
  }

  /** True when a retry is useless until the request, the schema or the object changes. */
  get isTerminal(): boolean {
    return INVALID.includes(this.code) || (this.code === 500 && this.message.includes(UNKNOWN_FIELD));
  }

  get retryAfterMs(): number {
    return this.isTerminal ? TERMINAL_RETRY_MS : this.#serverRetryMs;
  }
}

/** Handler for `catch` that treats these codes as success. */
export function unless(...codes: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
    return undefined;
  };
}

export function hasCode(error: unknown, ...codes: readonly number[]): error is ApiError {
  return error instanceof ApiError && codes.includes(error.code);
}

/** Minimum wait before a retry after any error. */
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

/** Parses JSON of the API server. The request determines the kind of the object. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the kind that it requested
export function parseJson<Answer>(text: string): Answer {
  // oxlint-disable-next-line typescript/no-unsafe-return -- the API server validates objects against their schemas
  return JSON.parse(text);
}
