// The objects of the model of Kubernetes, and what follows from one of them.
import type { CairnClusterSpec } from '../../../../operator/src/api/index.ts';

export interface Meta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: readonly { readonly uid: string }[];
}

interface StateOf {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime: string;
}

/** Fields of the specs of all kinds. */
export interface Spec extends Omit<CairnClusterSpec, 'resources'> {
  readonly template: { readonly metadata: Meta; readonly spec: Spec };
  readonly volumeClaimTemplates: readonly Item[];
  readonly ordinals?: { readonly start: number };
  readonly resources: { readonly requests: { readonly storage: string } };
  readonly nodeName?: string;
  /** In the pod of a recovery. */
  readonly survivor?: string;
  readonly acceptLoss?: string;
  readonly release: string;
  readonly isBad: boolean;
  /** In the pod of a learner. */
  readonly isLearner?: boolean;
}

export interface Status {
  readonly phase?: string;
  readonly capacity?: { readonly storage: string };
  readonly conditions?: readonly (StateOf & { readonly reason: string; readonly message: string })[];
  readonly containerStatuses?: readonly {
    readonly name: string;
    readonly state?: {
      readonly running?: object;
      readonly terminated?: { readonly exitCode: number; readonly message: string };
    };
    readonly lastState?: { readonly terminated: { readonly exitCode: number; readonly finishedAt: string } };
  }[];
  readonly observedGeneration?: number;
  readonly storageSize?: string;
  readonly learners?: number;
  readonly recoveryID?: string;
  readonly recoveryStage?: string;
}

export interface Item {
  kind: string;
  metadata: Meta;
  spec: Spec;
  status: Status;
  readonly data?: { readonly join: string };
  /** Names in the ConfigMap at the start of the pod. */
  readonly founders?: readonly string[];
}

/** The body of a request: an object to apply, a patch, or the options of a deletion. */
export interface Sent {
  readonly metadata?: Partial<Meta>;
  readonly spec?: Spec;
  readonly status?: Status;
  readonly preconditions?: Partial<Meta>;
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
}

/** Name of the StatefulSet that a pod of this name belongs to; undefined when it is not the pod of a node. */
export function setOf(pod: string): string | undefined {
  return /^(.*)-\d+$/.exec(pod)?.[1];
}

/** Returns whether a StatefulSet has a pod of this name, which is one of its pods. */
export function isWithin({ replicas, ordinals }: Pick<Spec, 'replicas' | 'ordinals'>, name: string): boolean {
  const at = ordinalOf(name) - (ordinals?.start ?? 0);
  return at >= 0 && at < replicas;
}

export function isTerminating({ metadata }: Item): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isOwnedBy({ metadata: { ownerReferences = [] } }: Item, { metadata: { uid } }: Item): boolean {
  return ownerReferences.some((owner) => owner.uid === uid);
}

export function sizeOf(claim: Item): string {
  return claim.spec.resources.requests.storage;
}

export function shrinks({ spec }: Sent, found: Item | undefined): boolean {
  return spec !== undefined && found !== undefined && gibOf(spec.resources.requests.storage) < gibOf(sizeOf(found));
}

/** Number of GiB of a quantity such as 20Gi. */
export function gibOf(quantity: string | undefined): number {
  return Number.parseInt(quantity ?? '0', 10);
}

export function ordinalOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('-') + 1));
}
