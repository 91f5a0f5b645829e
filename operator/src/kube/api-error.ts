/** Errors that the API server answers with. */
import { parseJson } from './json.ts';

/** What the server says about an error. */
export interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
}

/** An answer of the server that is an error. */
export class ApiError extends Error {
  readonly code: number;
  /** Such as `Conflict`. */
  readonly reason: string;

  constructor(what: string, code: number, text: string) {
    const { message = text.slice(0, 300), reason = '' } = statusOf(text);
    super(`${what}: ${code} ${message}`);
    this.code = code;
    this.reason = reason;
  }
}

/** Takes these answers for success: for `catch`. */
export function unless(...codes: readonly number[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof ApiError) || !codes.includes(error.code)) throw error;
  };
}

function statusOf(text: string): Status {
  try {
    return parseJson(text);
  } catch {
    return {};
  }
}
