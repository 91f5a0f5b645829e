/**
 * Addresses of a cluster inside of Kubernetes, and what a client needs there, from its Secrets.
 *
 * A Secret is read by its name and never listed, so that the operator needs no right to see others. It is read again
 * after CACHED_MS: certificates and keys are replaced while a cluster runs.
 */
import type { CairnCluster } from '../api/index.ts';
import {
  type Api,
  CONFIG_MAP,
  type ConfigMap,
  type Kind,
  type KubeObject,
  SECRET,
  type Secret,
  textIn,
} from '../kube/index.ts';
import { KEYS, mountedSecrets, PORTS, podDomain, poolOf, serviceHost } from '../objects/index.ts';
import type { Endpoint, Identity, TLSFiles } from './channel.ts';

const CACHED_MS = 60_000;

/** Address of the Service, behind which all ready nodes answer. */
export function serviceAddress(cluster: CairnCluster): string {
  return `${serviceHost(cluster)}:${PORTS.grpc}`;
}

/** Address of one node, by the name of its pod. It has one before it is ready, too. */
export function nodeAddress(cluster: CairnCluster, pod: string, port: 'grpc' | 'metrics' = 'grpc'): string {
  return `${pod}.${podDomain(cluster)}:${PORTS[port]}`;
}

/** A pod as far as it shows what a client needs at its node. */
export interface MountingPod extends KubeObject {
  readonly spec?: {
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName?: string };
      readonly configMap?: { readonly name?: string };
    }[];
    readonly containers?: readonly {
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
    }[];
  };
}

/** The Secrets and the ConfigMap that a client needs. */
interface Sources {
  readonly auth: string | undefined;
  readonly tls: string | undefined;
  readonly authorities: string | undefined;
  /** The node refuses clients without a certificate. */
  readonly isMutual: boolean;
}

export class Identities {
  readonly #api: Api;
  readonly #cached = new Map<string, { identity: Identity; readMs: number }>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** For the Service. Fails when a Secret does not exist yet. */
  of(cluster: CairnCluster): Promise<Identity> {
    return this.#read(cluster, sourcesOf(cluster));
  }

  /**
   * For the nodes in these pods, each by the Secrets that it has mounted: while pods are replaced, some have those of
   * an earlier spec. Leaves out nodes whose Secrets do not exist.
   */
  async ofPods(cluster: CairnCluster, pods: readonly MountingPod[]): Promise<readonly Endpoint[]> {
    const endpoints: Endpoint[] = [];
    for (const pod of pods) {
      const identity = await this.#read(cluster, mountedBy(pod)).catch(() => undefined);
      if (identity !== undefined) endpoints.push({ address: nodeAddress(cluster, pod.metadata.name), identity });
    }
    return endpoints;
  }

  /** The metrics ports of its nodes, without learners that are out of service. */
  async metricsOf(cluster: CairnCluster): Promise<readonly Endpoint[]> {
    const identity = await this.of(cluster);
    const { members = [] } = cluster.status ?? {};
    const counted = members.filter(({ name, ready }) => ready || poolOf(cluster, name) === 'voters');
    return counted.map(({ name }) => ({ address: nodeAddress(cluster, name, 'metrics'), identity }));
  }

  async #read({ metadata: { namespace, uid } }: CairnCluster, sources: Sources): Promise<Identity> {
    const key = JSON.stringify([uid, sources]);
    const nowMs = this.#api.runtime.nowMs();
    const cached = this.#cached.get(key);
    if (cached !== undefined && nowMs - cached.readMs < CACHED_MS) return cached.identity;
    const find = async (kind: Kind, name: string): Promise<ConfigMap> => {
      const found = await this.#api.find<ConfigMap>(kind, { namespace, name });
      if (found === undefined) throw new Error(`${kind.kind} "${name}" does not exist`);
      return found;
    };
    const { auth, tls, authorities, isMutual } = sources;
    const identity = {
      key: auth && textIn(await find(SECRET, auth), KEYS.adminKey)?.trim(),
      tls: tls === undefined ? undefined : filesOf(await find(SECRET, tls), isMutual),
    };
    const trusted = authorities && (await find(CONFIG_MAP, authorities)).data?.[KEYS.authority];
    if (trusted !== undefined && identity.tls !== undefined) identity.tls = { ...identity.tls, authorities: trusted };
    this.#cached.set(key, { identity, readMs: nowMs });
    return identity;
  }
}

function sourcesOf(cluster: CairnCluster): Sources {
  const { auth, tls } = mountedSecrets(cluster);
  const { caConfigMapName, clientCertificates } = cluster.spec.tls;
  return { auth, tls, authorities: caConfigMapName, isMutual: clientCertificates?.mode === 'Require' };
}

function mountedBy({ spec }: MountingPod): Sources {
  const volumes = new Map(spec?.volumes?.map((volume) => [volume.name, volume]));
  const variables = spec?.containers?.flatMap(({ env = [] }) => env) ?? [];
  return {
    auth: volumes.get('auth')?.secret?.secretName,
    tls: volumes.get('tls')?.secret?.secretName,
    authorities: volumes.get('tls-ca')?.configMap?.name,
    isMutual: variables.some(({ name, value }) => name === 'CAIRN_TLS_CLIENT_AUTH' && value === 'require'),
  };
}

function filesOf(secret: Secret, isMutual: boolean): TLSFiles {
  const authorities = textIn(secret, KEYS.authority);
  const [chain, key] = [textIn(secret, KEYS.certificate), textIn(secret, KEYS.privateKey)];
  if (!isMutual || chain === undefined || key === undefined) return { authorities };
  return { authorities, certificate: { chain, key } };
}
