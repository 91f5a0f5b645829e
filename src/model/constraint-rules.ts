/**
 * Limits on the constraints of one transaction: each can be read again from the log, and the work of applying them all
 * is bounded.
 */
import type { Constraint } from './constraint.ts';
import type { Faults } from './faults.ts';
import { CONSTRAINT_CONJUNCTIONS_MAX, CONSTRAINTS_MAX } from './limits.ts';
import { conjunctionCount, sizeFault } from './selector-rules.ts';

export function checkConstraints(constraints: readonly Constraint[], field: string, faults: Faults): void {
  if (constraints.length > CONSTRAINTS_MAX) {
    faults.add(field, `must be at most ${CONSTRAINTS_MAX}`, constraints.length);
    return;
  }
  let count = 0;
  for (const [place, { selector }] of constraints.entries()) {
    if (selector === undefined) continue;
    const size = sizeFault(selector);
    if (size !== undefined) faults.add(`${field}[${place}].selector`, size.rule, size.found);
    count += conjunctionCount(selector);
  }
  if (count <= CONSTRAINT_CONJUNCTIONS_MAX) return;
  const rule = `must come to at most ${CONSTRAINT_CONJUNCTIONS_MAX} alternatives together when And is spread over Or`;
  faults.add(field, rule, count);
}
