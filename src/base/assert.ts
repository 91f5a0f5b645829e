/**
 * Broken invariants: the one kind of failure that no code handles.
 *
 * An assertion that fails is a bug in Cairn, never the fault of a caller. It is thrown as `BrokenInvariant`. In the
 * core, where entries are ordered, stored and applied, it stops the node, which recovers from its log. In a request it
 * ends that request with an internal error. Faults of callers are `DatabaseError` (see error.ts).
 */

/** Thrown by `assert` and `unreachable`. Caught only by the outermost handler, of a request or of the process. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant';
}

/**
 * Throws `BrokenInvariant` unless the condition holds.
 * `claim` states what must be true ("applied index never passes commit index"); `found` is the offending value. It is
 * printed only on failure, so a hot path pays for neither.
 */
export function assert(condition: boolean, claim: string, found?: unknown): asserts condition {
  if (!condition) throw new BrokenInvariant(found === undefined ? claim : `${claim}; found ${describe(found)}`);
}

/** Ends an exhaustive switch: does not compile while a case is missing, and throws if a value escapes its type. */
export function unreachable(value: never): never {
  throw new BrokenInvariant(`Every case is handled; found ${describe(value)}`);
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}
