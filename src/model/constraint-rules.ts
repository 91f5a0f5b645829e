/** The limits on all constraints of one transaction together: what apply must look at for them ends somewhere. */
import type { Constraint } from './constraint.ts';
import type { Faults } from './faults.ts';
import { CONSTRAINT_CONJUNCTIONS_MAX, CONSTRAINTS_MAX } from './limits.ts';
import { conjunctionCount } from './selector-rules.ts';

export function checkConstraints(constraints: readonly Constraint[], field: string, faults: Faults): void {
  if (constraints.length > CONSTRAINTS_MAX) {
    faults.add(field, `must be at most ${CONSTRAINTS_MAX}`, constraints.length);
    return;
  }
  let count = 0;
  for (const { selector } of constraints) count += selector === undefined ? 0 : conjunctionCount(selector);
  if (count <= CONSTRAINT_CONJUNCTIONS_MAX) return;
  const rule = `must come to at most ${CONSTRAINT_CONJUNCTIONS_MAX} alternatives together when And is spread over Or`;
  faults.add(field, rule, count);
}
