/** The objects of Kubernetes that the harness reads, as the API server writes them in JSON, and how it follows them. */
import type {
  V1EndpointSlice,
  V1NetworkPolicySpec,
  V1PodSpec,
  V1PodStatus,
  V1ServiceSpec,
} from '@kubernetes/client-node';
import { type Api, type Handlers, Informer } from '../../operator/src/kube/index.ts';

export interface Resource {
  readonly metadata: {
    readonly name: string;
    /** Namespace of a namespaced object. */
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
}

export type Pod = Resource & { readonly spec: V1PodSpec; readonly status: V1PodStatus };
export type Service = Resource & { readonly spec: V1ServiceSpec };
export type NetworkPolicy = Resource & { readonly spec: V1NetworkPolicySpec };
export type EndpointSlice = Resource & {
  readonly endpoints?: V1EndpointSlice['endpoints'] | null;
  readonly ports?: V1EndpointSlice['ports'];
};

/** A ConfigMap, or a Secret, whose values are in base64. */
export type Values = Resource & { readonly data?: Readonly<Record<string, string>> };

/** A PersistentVolumeClaim. */
export type Claim = Resource & {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  readonly status: { readonly phase?: string; readonly capacity?: { readonly storage: string } };
};

/** A PersistentVolume. */
export type Volume = Resource & { readonly spec: { readonly hostPath: { readonly path: string } } };

/** Access to the API server, and a log. */
export interface Harness {
  readonly api: Api;
  readonly log: (line: string) => void;
}

/** Follows the objects of a path until the process ends; the copy of them, by namespace/name. */
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
