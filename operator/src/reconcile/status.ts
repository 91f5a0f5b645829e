/** Statuses of resources: conditions from findings, and claims of resources that describe the same. */
import type { Condition, Metadata } from '../api/index.ts';
import { conditionsOf, type Finding } from '../kube/index.ts';

export interface Resource {
  readonly metadata: Metadata;
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

/** The fields that every status has, from the findings by condition type. */
export function commonStatus(
  { metadata: { generation: observedGeneration }, status }: Resource,
  findings: Readonly<Record<string, Finding>>,
  wallMs: number,
): { readonly observedGeneration: number; readonly conditions: readonly Condition[] } {
  return { observedGeneration, conditions: conditionsOf(status?.conditions, findings, { observedGeneration, wallMs }) };
}

/** Name of the oldest object of those that describe the same, which owns it; undefined: the resource itself. */
export function claimOn(resource: Resource, same: readonly Resource[]): string | undefined {
  const ageOf = ({ metadata: { creationTimestamp, uid } }: Resource): string => `${creationTimestamp} ${uid}`;
  const [{ metadata } = resource] = same.toSorted((left, right) => (ageOf(left) < ageOf(right) ? -1 : 1));
  return metadata.uid === resource.metadata.uid ? undefined : metadata.name;
}

export function conditionOf({ status }: Resource, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
