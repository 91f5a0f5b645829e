/**
 * Collects everything that is wrong with a request, so that its sender can repair it in one go.
 *
 * Parsers of this layer take a `Faults`, add to it and return undefined; whoever called them all asks it once for the
 * error. A fault names the field by its path in the request, says what would be right, and shows the value. Path and
 * value are cut short: an answer must not grow with what a client made up.
 */
import { cut, DatabaseError, escapeUnseen, type FieldViolation, isQuoted, quote } from '#base';
import { FAULT_FIELD_LENGTH_MAX, FAULT_VALUE_LENGTH_MAX, FAULTS_MAX } from './limits.ts';

export class Faults {
  readonly #violations: FieldViolation[] = [];
  #count = 0;

  /** Number of faults, also those beyond the limit of described ones. */
  get count(): number {
    return this.#count;
  }

  get none(): boolean {
    return this.#count === 0;
  }

  /** The described ones, in the order found. */
  get violations(): readonly FieldViolation[] {
    return this.#violations;
  }

  /** `description` says what would be right ("must be 1 to 255 bytes of UTF-8"). Returns undefined, for `return`. */
  add(path: string, description: string, value?: string): undefined {
    this.#count++;
    if (this.#violations.length >= FAULTS_MAX) return;
    const field = cut(path, FAULT_FIELD_LENGTH_MAX);
    if (value === undefined) this.#violations.push({ field, description });
    else
      this.#violations.push({
        field,
        description,
        value: isQuoted(value) ? value : cut(value, FAULT_VALUE_LENGTH_MAX),
      });
  }

  /** An invalid_argument error with all of them; `what` begins its message ("The transaction is malformed"). */
  toError(what: string): DatabaseError {
    const [first] = this.#violations;
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : '';
    const message = first === undefined ? what : `${what}: ${describe(first)}${more}`;
    return new DatabaseError('invalid_argument', message, { details: { violations: this.#violations } });
  }

  throwIfAny(what: string): void {
    if (!this.none) throw this.toError(what);
  }
}

function describe(violation: FieldViolation): string {
  return `${escapeUnseen(violation.field)} ${describeFault(violation)}`;
}

/** What would be right, and what was found, where that is known. */
export function describeFault({ description, value }: FieldViolation): string {
  return value === undefined ? description : `${description}; found ${shown(value)}`;
}

/**
 * A number or count, a text that has its quotes and the kind of a JSON value stand as they are; any other text is
 * quoted.
 */
function shown(value: string): string {
  return SPOKEN.test(value) || isQuoted(value) ? value : quote(value, Number.POSITIVE_INFINITY);
}

const SPOKEN = /^(?:-?\d+(?:\.\d+)?|\d+ or more|an array|an object|a payload|true|false|null)$/;
