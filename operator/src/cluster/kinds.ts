/** Kubernetes objects as far as the controller reads them. */

import type { MountingPod } from '../client/index.ts';
import type { Condition, Kind, KubeObject } from '../kube/index.ts';
import { CONTAINER } from '../objects/index.ts';

export const POD: Kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' };
export const CLAIM: Kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims' };
export const STATEFUL_SET: Kind = { apiVersion: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets' };
export const KUBE_NODE: Kind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes' };

/** Hash of the template that a pod was made of. */
export const TEMPLATE_ANNOTATION = 'cairn.dev/template';
/** On a pod: time at which the operator began to drain it. */
export const DRAIN_ANNOTATION = 'cairn.dev/draining-since';
/** On a claim: number of the node that leaves the cluster because of a lower spec.replicas. */
export const RETIRING_ANNOTATION = 'cairn.dev/retiring';
/** On a claim: time at which the operator found its node lost. */
export const LOST_ANNOTATION = 'cairn.dev/lost-since';
/** On a claim that is kept: number of the node that was removed, 0 when it never joined. Its data is used no more. */
export const RELEASED_LABEL = 'cairn.dev/released';
/** On a claim: time at which the operator has last enlarged it. */
export const GROWN_ANNOTATION = 'cairn.dev/grown-at';
export const FINALIZER = 'cairn.dev/volumes';

type StateOf = Pick<Condition, 'type' | 'status'> & Partial<Pick<Condition, 'reason' | 'lastTransitionTime'>>;

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string } & MountingPod['spec'];
  readonly status?: {
    readonly phase?: string;
    readonly message?: string;
    readonly conditions?: readonly StateOf[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: { readonly reason?: string };
    readonly terminated?: { readonly exitCode: number; readonly message?: string };
  };
  readonly lastState?: { readonly terminated?: { readonly exitCode: number; readonly finishedAt: string } };
}

export interface Claim extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: { readonly storage?: string } };
  };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } };
}

export interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
    readonly volumeClaimTemplates?: readonly Omit<Claim, 'metadata'>[];
  };
}

export interface KubeNode extends KubeObject {
  readonly status?: { readonly conditions?: readonly StateOf[] };
}

/** The Kubernetes node that the volume of a claim was made for. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

export function volumeNodeOf({ metadata }: Claim): string | undefined {
  return metadata.annotations?.[SELECTED_NODE];
}

/** The container that runs cairn. Others may have been injected, such as the proxy of a service mesh. */
export function containerOf(pod: Pod | undefined): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

export function isTerminating({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isReady(object: Pod | KubeNode | undefined): boolean {
  return stateOf(object, 'Ready')?.status === 'True';
}

/** Time since which a condition has its status, in milliseconds since the Unix epoch. */
export function sinceMs(object: Pod | KubeNode | undefined, type: string): number | undefined {
  const since = stateOf(object, type)?.lastTransitionTime;
  return since === undefined ? undefined : Date.parse(since);
}

/** Time since which a pod is ready, unless it terminates. */
export function readySinceMs(pod: Pod | undefined): number | undefined {
  return pod !== undefined && isReady(pod) && !isTerminating(pod) ? sinceMs(pod, 'Ready') : undefined;
}

function stateOf(object: Pod | KubeNode | undefined, type: string): StateOf | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

/** Prefix of the name of a claim, before the name of its pod. */
export const DATA = 'data-';

/** Number of a pod, or of the pod of a claim. */
export function ordinalOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('-') + 1));
}

/** Bytes of a quantity such as 20Gi; 0 when it is absent. */
export function bytesOf(quantity = '0'): number {
  const [, number = '0', unit = '', binary = ''] = /^([0-9.]+)([kKMGTP]?)(i?)$/.exec(quantity) ?? [];
  const power = ['', 'K', 'M', 'G', 'T', 'P'].indexOf(unit.toUpperCase());
  return Number(number) * (binary === '' ? 1000 : 1024) ** power;
}
