/** Statuses that carry facts, such as ids: they are written only over the version that was observed. */
import { isDeepStrictEqual } from 'node:util';
import type { Condition, Metadata } from '../api/index.ts';
import { type Api, conditionsOf, type Kind, pathOf, unless } from '../kube/index.ts';

/** A custom resource as far as its status is written here. */
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

interface StatusWrite {
  readonly kind: Kind;
  readonly object: Resource;
  readonly status: object;
  /** Name of the field manager. */
  readonly manager: string;
}

/** Replaces the whole status. Fails with 409 when the object is no longer at the observed version. */
export function writeStatus<Written>(api: Api, { kind, object, status, manager }: StatusWrite): Promise<Written> {
  const { apiVersion, kind: name } = kind;
  const { namespace, name: own, resourceVersion } = object.metadata;
  const metadata = { namespace, name: own, resourceVersion };
  const query = new URLSearchParams({ fieldManager: manager, force: 'true' });
  const path = `${pathOf(kind, { namespace, name: own })}/status?${String(query)}`;
  return api.patch<Written>(path, { apiVersion, kind: name, metadata, status }, 'apply');
}

/** Writes a status that differs from the observed one. A newer version of the object brings another pass. */
export async function reportStatus(api: Api, write: StatusWrite): Promise<void> {
  const wanted: unknown = JSON.parse(JSON.stringify(write.status));
  if (isDeepStrictEqual(wanted, write.object.status)) return;
  await writeStatus(api, write).catch(unless(404, 409));
}
