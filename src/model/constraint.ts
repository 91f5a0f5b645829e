/**
 * Constraints of a transaction, and the function that decides whether one holds (SPEC-CONSTRAINTS). The machine that
 * applies the transaction calls it: `#judge`, database-machine.ts.
 *
 * `latest` is L: the revision of the latest event before the transaction that matches the selector, or 0; without a
 * selector, the revision of the database. The decision depends on nothing else, so every replica decides alike. (M7)
 */
import type { ConstraintViolation } from '#base';
import type { Selector } from './selector.ts';

/** A constraint of a request; one from the log has numbers only. */
export type Constraint = RevisionBound | RevisionRange;

interface RevisionBound {
  readonly kind: 'min-revision' | 'max-revision';
  readonly revision: number | bigint;
  readonly selector?: Selector | undefined;
}

/** `start` ≤ `end`: parsers refuse a range with its ends reversed. */
export interface RevisionRange {
  readonly kind: 'revision-range';
  readonly start: number | bigint;
  readonly end: number | bigint;
  readonly selector?: Selector | undefined;
}

/** Why a constraint does not hold: a violation without the index of the constraint. */
export type Violation = Omit<ConstraintViolation, 'index'>;

/** Undefined when the constraint holds. */
export function decide(constraint: Constraint, latest: number): Violation | undefined {
  const required = unmetRequirement(constraint, latest);
  if (required === undefined) return undefined;
  const looked = constraint.selector === undefined ? 'the database is' : 'the latest matching event is';
  return {
    kind: constraint.kind,
    found: latest,
    required,
    description: `${CONSTRAINT_NAMES[constraint.kind]} needs revision ${required}; ${looked} at revision ${latest}`,
  };
}

/**
 * The violation with the numbers of the request. The log stores a revision from 2^53 on as 2^53 - 1, which no
 * database reaches.
 */
export function asAsked(violation: ConstraintViolation, constraint: Constraint | undefined): ConstraintViolation {
  if (constraint === undefined || !isBeyond(constraint)) return violation;
  const asked = decide(constraint, violation.found);
  return asked === undefined ? violation : { ...asked, index: violation.index };
}

function isBeyond(constraint: Constraint): boolean {
  if (constraint.kind !== 'revision-range') return typeof constraint.revision === 'bigint';
  return typeof constraint.start === 'bigint' || typeof constraint.end === 'bigint';
}

/** The kinds of constraints in the specification. */
export const CONSTRAINT_NAMES: Readonly<Record<Constraint['kind'], string>> = {
  'min-revision': 'MinRevision',
  'max-revision': 'MaxRevision',
  'revision-range': 'RevisionRange',
};

/** Describes what would satisfy the constraint, when `latest` does not. */
function unmetRequirement(constraint: Constraint, latest: number): string | undefined {
  const anySelector = constraint.selector !== undefined;
  switch (constraint.kind) {
    case 'min-revision':
      if (anySelector) return latest >= constraint.revision ? undefined : `at least ${constraint.revision}`;
      return latest === constraint.revision ? undefined : `exactly ${constraint.revision}`;
    case 'max-revision':
      return latest <= constraint.revision ? undefined : `at most ${constraint.revision}`;
    case 'revision-range':
      if (anySelector) {
        const { start, end } = constraint;
        return start <= latest && latest <= end ? undefined : `from ${start} to ${end}`;
      }
      return constraint.end <= latest ? undefined : `at least ${constraint.end}`;
  }
}
