/**
 * Addresses of a cluster inside of Kubernetes, and what a client needs there, from its Secrets.
 *
 * A Secret is read by its name and never listed, so that the operator needs no right to see others. It is read again
 * after CACHED_MS: certificates and keys are replaced while a cluster runs.
 */
import type { CairnCluster } from '../api/index.ts';
import { type Api, CONFIG_MAP, type ConfigMap, type Kind, SECRET, textIn } from '../kube/index.ts';
import { KEYS, mountedSecrets, PORTS, podDomain, serviceHost } from '../objects/index.ts';
import type { Identity, TLSFiles } from './channel.ts';
import type { MetricsPort } from './node-metrics.ts';

const CACHED_MS = 60_000;

/** Address of the Service, behind which all ready nodes answer. */
export function serviceAddress(cluster: CairnCluster): string {
  return `${serviceHost(cluster)}:${PORTS.grpc}`;
}

/** Address of one node, by the name of its pod. It has one before it is ready, too. */
export function nodeAddress(cluster: CairnCluster, pod: string, port: 'grpc' | 'metrics' = 'grpc'): string {
  return `${pod}.${podDomain(cluster)}:${PORTS[port]}`;
}

export class Identities {
  readonly #api: Api;
  readonly #cached = new Map<string, { identity: Identity; generation: number; readMs: number }>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Fails with 404 when a Secret does not exist yet. */
  async of(cluster: CairnCluster): Promise<Identity> {
    const { uid, generation } = cluster.metadata;
    const nowMs = this.#api.runtime.nowMs();
    const cached = this.#cached.get(uid);
    if (cached?.generation === generation && nowMs - cached.readMs < CACHED_MS) return cached.identity;
    const identity = { key: await this.#keyOf(cluster), tls: await this.#tlsOf(cluster) };
    this.#cached.set(uid, { identity, generation, readMs: nowMs });
    return identity;
  }

  /** The metrics ports of its nodes. */
  async metricsOf(cluster: CairnCluster): Promise<readonly MetricsPort[]> {
    const identity = await this.of(cluster);
    const { members = [] } = cluster.status ?? {};
    return members.map(({ name }) => ({ address: nodeAddress(cluster, name, 'metrics'), identity }));
  }

  async #keyOf(cluster: CairnCluster): Promise<string | undefined> {
    const { auth } = mountedSecrets(cluster);
    return auth && textIn(await this.#read(SECRET, cluster, auth), KEYS.adminKey)?.trim();
  }

  async #tlsOf(cluster: CairnCluster): Promise<TLSFiles | undefined> {
    const { tls } = mountedSecrets(cluster);
    if (tls === undefined) return undefined;
    const { caConfigMapName, clientCertificates } = cluster.spec.tls;
    const secret = await this.#read(SECRET, cluster, tls);
    const trusted = caConfigMapName && (await this.#read(CONFIG_MAP, cluster, caConfigMapName)).data?.[KEYS.authority];
    const authorities = trusted ?? textIn(secret, KEYS.authority);
    const [chain, key] = [textIn(secret, KEYS.certificate), textIn(secret, KEYS.privateKey)];
    if (clientCertificates?.mode !== 'Require' || chain === undefined || key === undefined) return { authorities };
    return { authorities, certificate: { chain, key } };
  }

  async #read(kind: Kind, { metadata: { namespace } }: CairnCluster, name: string): Promise<ConfigMap> {
    const found = await this.#api.find<ConfigMap>(kind, { namespace, name });
    if (found === undefined) throw new Error(`${kind.kind} "${name}" does not exist`);
    return found;
  }
}
