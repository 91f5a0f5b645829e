/**
 * Refusals: why a component is not published.
 *
 * A refusal is an answer to the publisher: a code, one sentence with the offending value and what would be right, and
 * the offset. Readers throw it from deep inside a binary; the exported functions catch it and return it.
 * docs/components.md lists the codes.
 */
import { failure, ok, type Result } from '#base';

/** Every refusal code, in the order of docs/components.md. */
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
  /** Offset in the input, from 0. */
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

/** Runs the work; a refusal becomes the result, and any other error is rethrown. */
export function refusable<Value>(work: () => Value): Result<Value, Refusal> {
  try {
    return ok(work());
  } catch (error) {
    if (error instanceof Refused) return failure(error.refusal);
    throw error;
  }
}
