/** The objects of Kubernetes that the harness reads, as the API server writes them in JSON. */
import type {
  V1EndpointSlice,
  V1NetworkPolicySpec,
  V1PodSpec,
  V1PodStatus,
  V1ServiceSpec,
} from '@kubernetes/client-node';

export interface Metadata {
  readonly name: string;
  /** Absent: the object belongs to no namespace. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

export interface Resource {
  readonly metadata: Metadata;
}

export interface Pod extends Resource {
  readonly spec: V1PodSpec;
  readonly status: V1PodStatus;
}

export interface Service extends Resource {
  readonly spec: V1ServiceSpec;
}

export interface EndpointSlice extends Resource {
  readonly endpoints?: V1EndpointSlice['endpoints'] | null;
  readonly ports?: V1EndpointSlice['ports'];
}

export interface NetworkPolicy extends Resource {
  readonly spec: V1NetworkPolicySpec;
}

/** A ConfigMap or a Secret, whose values are in base64. */
export interface Values extends Resource {
  readonly data?: Readonly<Record<string, string>>;
}

export interface Claim extends Resource {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  readonly status: { readonly phase?: string; readonly capacity?: { readonly storage: string } };
}

export interface Volume extends Resource {
  readonly spec: { readonly hostPath: { readonly path: string }; readonly persistentVolumeReclaimPolicy: string };
  readonly status?: { readonly phase?: string };
}

/** `namespace/name`, by which an object is found among those of its kind. */
export function keyOf({ metadata: { namespace = '', name } }: Resource): string {
  return `${namespace}/${name}`;
}

export function namespaceOf({ metadata: { namespace = 'default' } }: Resource): string {
  return namespace;
}

/** The path of a pod in the API. */
export function podPath({ metadata: { namespace = '', name } }: Resource): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
