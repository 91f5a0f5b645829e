/** Finalizers: the API server keeps a deleted object until the operator has removed what is outside of Kubernetes. */
import type { Resource } from './status.ts';

/** `true`: the finalizer is removed although something outside is left. */
const ABANDON = 'cairn.dev/abandon';
/** Time after which a deletion that cannot be completed is given up. */
const GIVE_UP_MS = 3_600_000;

export function hasFinalizer({ metadata: { finalizers = [] } }: Resource, finalizer: string): boolean {
  return finalizers.includes(finalizer);
}

/** A patch that adds or removes a finalizer. Fails with 409 when the object is no longer at the observed version. */
export function finalizersOf(
  { metadata }: Resource,
  finalizer: string,
  isWanted: boolean,
): Readonly<Record<string, unknown>> {
  const { resourceVersion, finalizers = [] } = metadata;
  const others = finalizers.filter((one) => one !== finalizer);
  return { finalizers: isWanted ? [...others, finalizer] : others, resourceVersion };
}

/** Returns true when a deletion is given up: a person asks for it, or it has taken too long. */
export function isAbandoned({ metadata: { annotations = {}, deletionTimestamp } }: Resource, wallMs: number): boolean {
  const isLate = deletionTimestamp !== undefined && wallMs - Date.parse(deletionTimestamp) > GIVE_UP_MS;
  return annotations[ABANDON] === 'true' || isLate;
}
