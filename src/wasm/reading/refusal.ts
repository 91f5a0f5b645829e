/**
 * Why a component is not published.
 *
 * A refusal is an answer to whoever publishes, never a bug and never a crash: a code, one sentence with the offending
 * value and what would be right, and the byte at which it was seen. Readers throw it, because they are deep inside a
 * binary when they see it; the functions of the door catch it and return it. docs/components.md lists the codes.
 */
import { failure, ok, type Result } from '#base';

/** Every code of publishing, in the order of docs/components.md. */
export const REFUSAL_CODES = [
  'InvalidComponent',
  'TooLarge',
  'UnsafeName',
  'UnsupportedFeature',
  'MemoryLimit',
  'CodeTooComplex',
  'ForbiddenImport',
  'MissingExport',
  'SmokeCallFailed',
  'NotPublished',
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  /** Where it was seen: a byte of what was given, counted from 0. */
  readonly offset: number;
}

/** Carries a refusal out of a reader. Only `refusable` catches it. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(code: RefusalCode, offset: number, message: string) {
    super(message);
    this.refusal = { code, message, offset };
  }
}

/** Does the work; a refusal in it becomes its result, and everything else goes on as it is. */
export function refusable<Value>(work: () => Value): Result<Value, Refusal> {
  try {
    return ok(work());
  } catch (error) {
    if (error instanceof Refused) return failure(error.refusal);
    throw error;
  }
}
