/** Kinds and metadata of the objects that a CairnCluster owns. */
import { CAIRN_CLUSTER, type CairnCluster } from '../api/index.ts';
import { type Kind, ownerReference, type Wanted } from '../kube/index.ts';
import { podLabels } from './names.ts';

/** Facts that the objects depend on, beside the spec. */
export interface ClusterFacts {
  /** Number of pods to have now. It differs from spec.replicas while nodes join or leave. */
  readonly replicas: number;
  /** The same for learners; absent when there is no pool of them. */
  readonly learners?: number;
  /** Size of the volumes. It exceeds spec.storage.size after automatic growth. */
  readonly storageSize: string;
  /** API groups that the Kubernetes cluster serves, such as monitoring.coreos.com. */
  readonly servedGroups: ReadonlySet<string>;
  readonly defaultImage: string;
  /** Id of the cluster once it is founded. */
  readonly clusterID?: string;
  /** Namespace of the operator, which reaches the pods through their NetworkPolicy; absent when it runs elsewhere. */
  readonly operatorNamespace?: string;
}

/** The facts that follow from what was observed. */
export type DueFacts = Pick<ClusterFacts, 'replicas' | 'learners' | 'storageSize'>;

/** All kinds of owned objects. An object that is owned and no longer wanted is of one of them. */
export const OWNED_KINDS = {
  ServiceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' },
  ConfigMap: { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' },
  Service: { apiVersion: 'v1', kind: 'Service', plural: 'services' },
  NetworkPolicy: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', plural: 'networkpolicies' },
  PodDisruptionBudget: { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', plural: 'poddisruptionbudgets' },
  StatefulSet: { apiVersion: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets' },
  Certificate: { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', plural: 'certificates' },
  Ingress: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', plural: 'ingresses' },
  GRPCRoute: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'GRPCRoute', plural: 'grpcroutes' },
  HTTPRoute: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', plural: 'httproutes' },
  TLSRoute: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'TLSRoute', plural: 'tlsroutes' },
  ServiceMonitor: { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', plural: 'servicemonitors' },
  PodMonitor: { apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor', plural: 'podmonitors' },
  PrometheusRule: { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', plural: 'prometheusrules' },
} as const;

export type OwnedKind = keyof typeof OWNED_KINDS;

/** An object for server-side apply. Its fields beside the metadata are raw JSON. */
export interface OwnedObject extends Wanted {
  readonly apiVersion: string;
  readonly kind: OwnedKind;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly object[];
  };
}

/** @throws Error when no owned object has the kind. */
export function kindOf({ kind }: { readonly kind: string }): Kind {
  const found = Object.values(OWNED_KINDS).find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`${kind} is not a kind of owned objects`);
  return found;
}

export function groupOf({ apiVersion }: Kind): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

interface MetadataOptions {
  readonly name?: string;
  readonly component?: 'node' | 'learner' | 'client' | 'pod' | 'dashboard' | 'recovery';
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export function metadataOf(cluster: CairnCluster, options: MetadataOptions = {}): OwnedObject['metadata'] {
  const { metadata } = cluster;
  const { name = metadata.name, component = 'node', labels, annotations = {} } = options;
  return {
    namespace: metadata.namespace,
    name,
    labels: { ...podLabels(cluster), 'app.kubernetes.io/component': component, ...labels },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ownerReferences: [ownerReference(CAIRN_CLUSTER, cluster)],
  };
}

export function owned(
  kind: OwnedKind,
  metadata: OwnedObject['metadata'],
  fields: Readonly<Record<string, unknown>>,
): OwnedObject {
  return { apiVersion: OWNED_KINDS[kind].apiVersion, kind, metadata, ...fields };
}
