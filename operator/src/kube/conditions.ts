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

/**
 * Returns the conditions of `found`, sorted by type, with the times of those in `before` whose status is the same.
 *
 * Invariant:
 *   KM17  Equal findings give equal conditions at any time: `lastTransitionTime` changes only with `status`.
 */
export function conditionsOf(
  before: readonly Condition[] | undefined,
  found: readonly Omit<Condition, 'lastTransitionTime'>[],
  wallMs: number,
): readonly Condition[] {
  const known = new Map(before?.map((condition) => [condition.type, condition]));
  return found
    .map((condition) => {
      const last = known.get(condition.type);
      const isSame = last?.status === condition.status;
      return { ...condition, lastTransitionTime: isSame ? last.lastTransitionTime : timestamp(wallMs) };
    })
    .toSorted((left, right) => (left.type < right.type ? -1 : 1));
}
