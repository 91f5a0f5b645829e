/** Status conditions: what is true of an object, of which generation of it, and since when. */
import { timestamp } from './objects.ts';

export interface Condition {
  /** Such as `Ready`: true is good. */
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** In CamelCase, for programs. */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** The generation of the object that this was found for. */
  readonly observedGeneration: number;
  /** When `status` last changed, and only that. */
  readonly lastTransitionTime: string;
}

/**
 * The conditions that are true now, by type, given those that the object has. Those that are not named any more go.
 *
 * Invariant:
 *   KM17  The same findings make the same conditions at any time: only a status that changes moves its time.
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
