/**
 * Types of the Kubernetes objects that the harness reads, as the API server writes them in JSON, and a function that
 * follows them.
 */
import type {
  V1EndpointSlice,
  V1NetworkPolicySpec,
  V1PersistentVolumeClaimSpec,
  V1PersistentVolumeClaimStatus,
  V1PodSpec,
  V1PodStatus,
  V1ServiceSpec,
} from '@kubernetes/client-node';
import { type Api, type Handlers, Informer, type KubeObject } from '../../operator/src/kube/index.ts';

/** An object. The namespace of a cluster-wide object is not used. */
export type Resource = KubeObject & {
  readonly metadata: { readonly namespace: string; readonly deletionGracePeriodSeconds?: number };
};
export type Pod = Resource & { readonly spec: V1PodSpec; readonly status: V1PodStatus };
export type Service = Resource & { readonly spec: V1ServiceSpec };
export type NetworkPolicy = Resource & { readonly spec: V1NetworkPolicySpec };
export type EndpointSlice = Resource & { readonly [Field in 'endpoints' | 'ports']?: V1EndpointSlice[Field] | null };
/** A PersistentVolumeClaim. */
export type Claim = Resource & {
  readonly spec: V1PersistentVolumeClaimSpec;
  readonly status: V1PersistentVolumeClaimStatus;
};
/** A PersistentVolume. */
export type Volume = Resource & { readonly spec: { readonly hostPath: { readonly path: string } } };

/** Access to the API server, and a log. */
export interface Harness {
  readonly api: Api;
  readonly log: (line: string) => void;
}

/** Follows the objects of a path until the process ends, and returns its copy of them by namespace/name. */
export function follow<Item extends Resource>(
  { api, log }: Harness,
  path: string,
  handlers: Handlers<Item>,
): ReadonlyMap<string, Item> {
  const onError = (error: unknown): void => log(`${path}: ${String(error)}`);
  const informer = new Informer<Item>(api, path, { ...handlers, onError });
  void informer.run(new AbortController().signal);
  return informer.items;
}
