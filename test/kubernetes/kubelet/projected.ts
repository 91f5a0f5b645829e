/**
 * What Kubernetes objects project into a container, as files or as variables: ConfigMaps, Secrets, tokens of a service
 * account, and fields of the pod.
 */
import type { V1Volume, V1VolumeProjection } from '@kubernetes/client-node';
import { type Api, ApiError } from '../../../operator/src/kube/index.ts';
import { namespaceOf, type Pod, type Values } from '../objects.ts';

/** Contents by path. */
export type Files = ReadonlyMap<string, Buffer>;

/** A token that is older than this share of its life is replaced. */
const TOKEN_SHARE = 0.8;
const TOKEN_SECONDS = 3600;

/** Projects objects into one pod, and keeps its tokens until they are old. */
export class Projector {
  readonly #api: Api;
  readonly #tokens = new Map<string, { readonly token: Buffer; readonly untilMs: number }>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** The files of a volume. @throws ApiError when an object is missing that is not optional. */
  async filesOf(volume: V1Volume, pod: Pod): Promise<Files> {
    const sources = volume.projected?.sources ?? [volume];
    const parts = await Promise.all(sources.map((source) => this.#filesOf(source, pod)));
    return new Map(parts.flatMap((files) => [...files]));
  }

  /** The values of a ConfigMap or a Secret; none when it is optional and missing. */
  async valuesOf(kind: 'configmaps' | 'secrets', { name, optional }: Named, pod: Pod): Promise<Files> {
    try {
      const { data = {} } = await this.#api.get<Values>(`/api/v1/namespaces/${namespaceOf(pod)}/${kind}/${name}`);
      const encoding = kind === 'secrets' ? 'base64' : 'utf8';
      return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
    } catch (error) {
      if (optional === true && error instanceof ApiError && error.code === 404) return new Map();
      throw error;
    }
  }

  async #filesOf(source: V1Volume | V1VolumeProjection, pod: Pod): Promise<Files> {
    const { configMap, secret, downwardAPI } = source;
    if (configMap !== undefined) return pick(await this.valuesOf('configmaps', named(configMap), pod), configMap.items);
    if (secret !== undefined) return pick(await this.valuesOf('secrets', named(secret), pod), secret.items);
    if (downwardAPI !== undefined) {
      const items = downwardAPI.items ?? [];
      return new Map(items.map(({ path, fieldRef }) => [path, Buffer.from(fieldOf(pod, fieldRef?.fieldPath ?? ''))]));
    }
    if ('serviceAccountToken' in source && source.serviceAccountToken !== undefined) {
      const { path, audience, expirationSeconds = TOKEN_SECONDS } = source.serviceAccountToken;
      return new Map([[path, await this.#token(pod, audience, expirationSeconds)]]);
    }
    throw new Error(`a volume of ${pod.metadata.name} is of a kind that this kubelet does not know`);
  }

  async #token(pod: Pod, audience: string | undefined, seconds: number): Promise<Buffer> {
    const kept = this.#tokens.get(`${audience} ${seconds}`);
    if (kept !== undefined && kept.untilMs > Date.now()) return kept.token;
    const { name, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${namespaceOf(pod)}/serviceaccounts/${pod.spec.serviceAccountName ?? 'default'}/token`;
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name, uid };
    const audiences = audience === undefined ? undefined : [audience];
    const made: { readonly status: { readonly token: string } } = await this.#api.create(path, {
      spec: { expirationSeconds: seconds, audiences, boundObjectRef },
    });
    const token = Buffer.from(made.status.token);
    this.#tokens.set(`${audience} ${seconds}`, { token, untilMs: Date.now() + seconds * 1000 * TOKEN_SHARE });
    return token;
  }
}

interface Named {
  readonly name: string;
  readonly optional?: boolean | undefined;
}

/** A Secret is named by another field in a volume of its own than in a projected one. */
function named(source: { name?: string; secretName?: string; optional?: boolean }): Named {
  return { name: source.name ?? source.secretName ?? '', optional: source.optional };
}

function pick(files: Files, items: readonly { key: string; path: string }[] | undefined): Files {
  if (items === undefined) return files;
  return new Map(
    items.flatMap(({ key, path }) => {
      const content = files.get(key);
      return content === undefined ? [] : [[path, content] as const];
    }),
  );
}

/** What a path such as `metadata.labels['zone']` names in a pod; empty when it has none. */
export function fieldOf(pod: object, path: string): string {
  const [, outer = path, key] = /^(metadata\.(?:labels|annotations))\['(.+)'\]$/.exec(path) ?? [];
  const steps = [...outer.split('.'), ...(key === undefined ? [] : [key])];
  const found = steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], pod);
  if (typeof found === 'string' || typeof found === 'number') return String(found);
  return Object.entries(found ?? {})
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join('\n');
}
