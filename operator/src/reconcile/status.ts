/** Statuses of resources: conditions from findings, and the resource that owns what several describe. */
import type { Condition, Metadata } from '../api/index.ts';
import { conditionsOf } from '../kube/index.ts';

export interface Resource {
  readonly metadata: Metadata;
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

/** Value, reason and message of a condition. */
export type Finding = readonly [status: Condition['status'], reason: string, message: string];

/** The fields that every status has, from the findings by condition type. */
export function commonStatus(
  { metadata: { generation: observedGeneration }, status }: Resource,
  findings: Readonly<Record<string, Finding>>,
  wallMs: number,
): { readonly observedGeneration: number; readonly conditions: readonly Condition[] } {
  const found = Object.entries(findings).map(([type, [value, reason, message]]) => ({
    type,
    status: value,
    reason,
    message,
    observedGeneration,
  }));
  return { observedGeneration, conditions: conditionsOf(status?.conditions, found, wallMs) };
}

/** Returns the oldest object, which owns what several objects describe. */
export function oldest<Item extends Resource>(objects: readonly Item[]): Item | undefined {
  const ageOf = ({ metadata: { creationTimestamp, uid } }: Item): string => `${creationTimestamp} ${uid}`;
  return objects.toSorted((left, right) => (ageOf(left) < ageOf(right) ? -1 : 1))[0];
}

export function conditionOf({ status }: Resource, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
