/** Status conditions of an object, with the generation that they describe and the time of their last transition. */
import { timestamp } from './objects.ts';

export interface Condition {
  /** Such as `Ready`. True is the healthy state. */
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, for programs. */
  readonly reason: string;
  /** Explanation for people; programs read `reason`. */
  readonly message: string;
  /** Generation of the object that the controller observed. */
  readonly observedGeneration: number;
  /** Time of the last change of `status` alone. */
  readonly lastTransitionTime: string;
}

/** Status, reason and message of a condition. */
export type Finding = readonly [status: Condition['status'], reason: string, message: string];

/**
 * Returns the conditions of findings by type, sorted by type, with the times of those in `before` whose status is the
 * same.
 *
 * Invariant:
 *   KM17  Equal findings give equal conditions at any time: `lastTransitionTime` changes only with `status`.
 */
export function conditionsOf(
  before: readonly Condition[] | undefined,
  findings: Readonly<Record<string, Finding>>,
  { observedGeneration, wallMs }: { readonly observedGeneration: number; readonly wallMs: number },
): readonly Condition[] {
  const known = new Map(before?.map((condition) => [condition.type, condition]));
  return Object.entries(findings)
    .map(([type, [status, reason, message]]) => {
      const last = known.get(type);
      const lastTransitionTime = last?.status === status ? last.lastTransitionTime : timestamp(wallMs);
      return { type, status, reason, message, observedGeneration, lastTransitionTime };
    })
    .toSorted((left, right) => (left.type < right.type ? -1 : 1));
}
