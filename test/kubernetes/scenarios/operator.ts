/** Installs Cairn by its operator, and follows the resources that the operator manages. */
import { resolve } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { CAIRN_CLUSTER, type CairnCluster, type CairnClusterSpec } from '../../../operator/src/api/index.ts';
import {
  type ClusterDescription,
  GrpcClusterAdmin,
  Identities,
  nodeAddress,
} from '../../../operator/src/client/index.ts';
import { type Kind, pathOf, type Secret, textIn } from '../../../operator/src/kube/index.ts';
import { type Cluster, eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { PODS } from './install.ts';

const CHARTS = resolve(import.meta.dirname, '../../../charts');
export const OPERATOR_NAMESPACE = 'cairn-system';
export const NAME = 'cairn';
const PLACE = { namespace: 'default', name: NAME };

/** Part of a spec: other fields stay unchanged, or have their defaults. */
export type SpecPart = { readonly [Field in keyof CairnClusterSpec]?: Partial<CairnClusterSpec[Field]> };

/** Longer than a rolling restart of three nodes takes on a busy machine. */
const WITHIN_MS = 300_000;

/** Shorter waits, which would only make tests longer. */
const SOONER: SpecPart = { update: { stableSeconds: 1, finalizeAfterSeconds: 0 } };

/** Equals the request of a node: writers leave no processor idle, and the operator shares it with them. */
const CPU = 'resources.requests.cpu=250m';

/** Installs both charts, and waits until an operator is ready. */
export async function installOperator(cluster: Cluster, ...values: readonly string[]): Promise<void> {
  const [repository = '', tag = ''] = cluster.image.split(':');
  const set = ['--set', [`image.repository=${repository},image.tag=${tag}`, CPU, ...values].join()];
  await cluster.helm('upgrade', '--install', 'cairn-crds', `${CHARTS}/cairn-crds`);
  const place = ['--namespace', OPERATOR_NAMESPACE, '--create-namespace'];
  await cluster.helm('upgrade', '--install', 'cairn-operator', `${CHARTS}/cairn-operator`, ...place, ...set, '--wait');
}

/** Creates the CairnCluster, or replaces its spec. */
export async function applyCluster(cluster: Cluster, part: SpecPart): Promise<void> {
  const [, version = ''] = cluster.image.split(':');
  const spec = { version, storage: { size: '1Gi' }, ...SOONER, ...part };
  await apply(CAIRN_CLUSTER, NAME, spec);
}

/** Changes fields of the spec of the CairnCluster. */
export async function changeCluster({ api }: Cluster, part: SpecPart): Promise<void> {
  await api.patch(pathOf(CAIRN_CLUSTER, PLACE), { spec: part }, 'merge');
}

export async function apply({ apiVersion, kind }: Omit<Kind, 'plural'>, name: string, spec: object): Promise<void> {
  const object = { apiVersion, kind, metadata: { name }, spec };
  await feed(JSON.stringify(object), 'kubectl', 'apply', '--server-side', '--filename=-');
}

interface WithStatus {
  readonly metadata: { readonly generation: number };
  readonly status?: CairnCluster['status'];
}

interface Wait {
  readonly kind?: Kind;
  readonly name?: string;
  readonly withinMs?: number;
  /** True when the rest of the same status is as expected. */
  readonly isSo?: (status: NonNullable<CairnCluster['status']>) => boolean;
}

/** Waits until a condition of the current generation is True. */
export async function until(
  { api }: Cluster,
  type: string,
  { kind = CAIRN_CLUSTER, name = NAME, withinMs = WITHIN_MS, isSo = () => true }: Wait = {},
): Promise<void> {
  const path = pathOf(kind, { ...PLACE, name });
  let last = '';
  const isTrue = async (): Promise<boolean> => {
    const { metadata, status } = await api.get<WithStatus>(path);
    const found = status?.conditions?.find((condition) => condition.type === type);
    last = JSON.stringify(found);
    if (status === undefined || found?.observedGeneration !== metadata.generation) return false;
    return found.status === 'True' && isSo(status);
  };
  await eventually(`${kind.kind} ${name} to be ${type}`, isTrue, withinMs).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${last}`);
  });
}

/** Describes the cluster by its admin API. Like the operator, it asks the first three nodes. */
export async function describeCluster({ api }: Cluster): Promise<ClusterDescription> {
  const cluster = await api.get<CairnCluster>(pathOf(CAIRN_CLUSTER, PLACE));
  const identity = await new Identities(api).of(cluster);
  return new GrpcClusterAdmin(PODS.map((pod) => ({ address: nodeAddress(cluster, pod), identity }))).describe();
}

/** Lets this process trust the authority of the cluster. */
export async function trustAuthority({ api }: Cluster): Promise<void> {
  const secret = await api.get<Secret>(`/api/v1/namespaces/default/secrets/${NAME}-ca`);
  setDefaultCACertificates([textIn(secret, 'ca.crt') ?? '']);
}

/** Checks that the first pods still are those of `kept`. @throws Error when one of them was replaced. */
export async function expectKept(cluster: Cluster, kept: ReadonlySet<string>): Promise<void> {
  const now = await cluster.uidsOf(PODS.slice(0, kept.size));
  if (![...kept].every((uid) => now.has(uid))) throw new Error('a pod that stays was restarted');
}
