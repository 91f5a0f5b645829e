// Objects of Kubernetes as a chart renders them, with the fields that the tests read.
import { parseAllDocuments } from 'yaml';

export type Labels = Readonly<Record<string, string>>;

export interface Named {
  readonly name: string;
}

export interface Variable extends Named {
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

export interface Port extends Partial<Named> {
  readonly port?: number | string;
  readonly containerPort?: number;
  readonly targetPort?: string;
}

export interface Container extends Named {
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly { readonly configMapRef?: Named; readonly secretRef?: Named }[];
  readonly ports?: readonly Port[];
  readonly resources?: { readonly requests?: object; readonly limits?: { readonly memory?: string } };
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[] };
  };
  readonly volumeMounts?: readonly (Named & { readonly mountPath: string })[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Probe {
  readonly httpGet: { readonly port: string; readonly path: string };
}

export interface Volume extends Named {
  readonly secret?: { readonly secretName: string };
  readonly configMap?: Named;
  readonly emptyDir?: object;
  readonly hostPath?: object;
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly imagePullSecrets?: readonly Named[];
  readonly securityContext?: { readonly runAsNonRoot?: boolean; readonly seccompProfile?: { readonly type: string } };
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Labels } }[];
}

export interface Pod {
  readonly metadata: { readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec: PodSpec;
}

/** Backend of an Ingress rule. */
interface Backend extends Named {
  readonly port: Named;
}

/** The fields of the specs of all kinds that the tests read. */
export interface Spec extends Partial<PodSpec> {
  readonly replicas?: number;
  readonly selector?: Labels & { readonly matchLabels?: Labels };
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly template?: Pod;
  readonly serviceName?: string;
  readonly secretName?: string;
  readonly ports?: readonly Port[];
  readonly endpoints?: readonly Port[];
  readonly podMetricsEndpoints?: readonly Port[];
  readonly ingress?: readonly {
    readonly from?: readonly { readonly podSelector?: { readonly matchLabels: Labels } }[];
    readonly ports?: readonly Port[];
  }[];
  readonly rules?: readonly {
    readonly backendRefs?: readonly (Named & { readonly port: number })[];
    readonly http?: { readonly paths: readonly { readonly backend: { readonly service: Backend } }[] };
  }[];
  readonly volumeClaimTemplates?: readonly { readonly metadata: Named }[];
}

interface Reference extends Named {
  readonly kind: string;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Named & { readonly namespace?: string; readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec?: Spec;
  readonly data?: Labels;
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
  readonly roleRef?: Reference;
  readonly subjects?: readonly Reference[];
}

/** @throws Error when the text is not valid YAML, or has a duplicate key. */
export function parseObjects(text: string): readonly KubeObject[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const object: KubeObject | null = document.toJS();
    return object === null ? [] : [object];
  });
}

export function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}

export function ofKind(objects: readonly KubeObject[], ...kinds: readonly string[]): readonly KubeObject[] {
  return objects.filter(({ kind }) => kinds.includes(kind));
}

/** Returns pods, and the pod templates in other objects. */
export function podsOf(objects: readonly KubeObject[]): readonly (Pod & { readonly id: string })[] {
  return objects.flatMap((object) => {
    const { metadata, spec } = object;
    if (spec?.template !== undefined) return [{ id: idOf(object), ...spec.template }];
    if (object.kind !== 'Pod' || spec?.containers === undefined) return [];
    return [{ id: idOf(object), metadata, spec: { ...spec, containers: spec.containers } }];
  });
}

export function containersOf({ initContainers = [], containers }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers];
}

/**
 * Returns one line per value of an object, with its path. An item with a name has the name in its path instead of its
 * index.
 */
export function linesOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${path} = []`];
    return value.flatMap((each, at) => linesOf(each, `${path}[${nameOf(each) ?? at}]`));
  }
  if (typeof value !== 'object' || value === null) return [`${path} = ${JSON.stringify(value)}`];
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return [`${path} = {}`];
  return entries.flatMap(([key, member]) => linesOf(member, `${path}${/[./]/.test(key) ? `['${key}']` : `.${key}`}`));
}

function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('name' in value)) return undefined;
  return typeof value.name === 'string' ? value.name : undefined;
}
