/**
 * Collects all faults of a request, so that the client can fix them in one go.
 *
 * Parsers of this layer take a `Faults`, add to it and return undefined; the caller builds the error. A fault names the
 * field by its path in the request, the rule, and the value. Path and value are truncated, so that an answer is
 * bounded.
 */
import { cut, DatabaseError, escapeUnseen, type FieldViolation, quote } from '#base';
import { FAULT_FIELD_LENGTH_MAX, FAULT_VALUE_LENGTH_MAX, FAULTS_MAX } from './limits.ts';

/** The offending value: text, which a message quotes, or a value that is shown unquoted. */
export type Found = string | number | bigint | Said;

/** An offending value that is no text of the request: a range, a kind, a number as written. It is short, or cut. */
export interface Said {
  readonly said: string;
}

/** Shows a text in place of a number: unquoted when it is a number, otherwise quoted. */
export function numberAsWritten(text: string): Found {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? { said: cut(text, FAULT_VALUE_LENGTH_MAX) } : text;
}

/** Path of a part of the request, empty for the request itself, and the collection of its faults. */
export interface FaultPlace {
  readonly field: string;
  readonly faults: Faults;
}

/** The path of a field below the place. */
export function fieldBelow({ field }: FaultPlace, name: string): string {
  return field === '' ? name : `${field}.${name}`;
}

export class Faults {
  readonly #violations: FieldViolation[] = [];
  #count = 0;

  /** Number of faults, including those that are not described. */
  get count(): number {
    return this.#count;
  }

  get none(): boolean {
    return this.#count === 0;
  }

  /** The described faults, in the order found. */
  get violations(): readonly FieldViolation[] {
    return this.#violations;
  }

  /** `description` states the rule ("must be 1 to 255 bytes of UTF-8"). Returns undefined, for `return`. */
  add(path: string, description: string, found?: Found): undefined {
    this.#keep(path, found === undefined ? { description } : { description, ...shown(found) });
  }

  /** Adds a fault of another collection, as a fault of this field. */
  addAs(path: string, violation: FieldViolation): void {
    this.#keep(path, violation);
  }

  #keep(path: string, violation: Omit<FieldViolation, 'field'>): void {
    this.#count++;
    if (this.#violations.length < FAULTS_MAX) {
      this.#violations.push({ ...violation, field: cut(path, FAULT_FIELD_LENGTH_MAX) });
    }
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

/** The rule, and the offending value if known. */
export function describeFault({ description, found }: FieldViolation): string {
  return found === undefined ? description : `${description}; found ${found}`;
}

function shown(found: Found): Required<Pick<FieldViolation, 'value' | 'found'>> {
  if (typeof found === 'string') {
    const value = cut(found, FAULT_VALUE_LENGTH_MAX);
    return { value, found: quote(value, Number.POSITIVE_INFINITY) };
  }
  const said = typeof found === 'object' ? found.said : String(found);
  return { value: said, found: said };
}
