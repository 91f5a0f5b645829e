/**
 * Reads the files and variables that Kubernetes objects project into a container: ConfigMaps, Secrets, tokens of a
 * service account, and fields of the pod. A missing object or key is an error, because nothing is optional.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container, V1Volume, V1VolumeProjection } from '@kubernetes/client-node';
import { type Api, type ConfigMap, type Secret, textsOf } from '../../../operator/src/kube/index.ts';
import type { Pod } from '../objects.ts';

/** Contents of files by path. */
export type Files = ReadonlyMap<string, string>;

/** A pod, and the API server with the objects that it refers to. */
export interface Referrer {
  readonly api: Api;
  readonly pod: Pod;
}

/** A reference to a ConfigMap or a Secret; a volume uses another field for the name of a Secret. */
interface Reference {
  readonly configMap?: { readonly name?: string } | undefined;
  readonly secret?: { readonly name?: string; readonly secretName?: string } | undefined;
}

/** Lifetime of tokens, longer than any cluster lasts, because tokens are not renewed. */
const TOKEN_SECONDS = 7 * 86_400;

/** The files of a volume; `dir` has the previous ones. */
export async function filesOf(volume: V1Volume, referrer: Referrer, dir: string): Promise<Files> {
  const sources: readonly V1VolumeProjection[] = volume.projected?.sources ?? [volume];
  const parts = sources.map(async ({ configMap, secret, downwardAPI, serviceAccountToken }): Promise<Files> => {
    if (serviceAccountToken !== undefined) {
      const { path, audience } = serviceAccountToken;
      const file = join(dir, path);
      return new Map([[path, existsSync(file) ? readFileSync(file, 'utf8') : await newToken(referrer, audience)]]);
    }
    const fields = downwardAPI?.items?.map(({ path, fieldRef }) => [path, fieldOf(referrer.pod, fieldRef)] as const);
    if (fields !== undefined) return new Map(fields);
    const values = await valuesOf(referrer, { configMap, secret });
    const items = configMap?.items ?? secret?.items;
    return items === undefined ? values : new Map(items.map(({ key, path }) => [path, valueAt(values, key)]));
  });
  return new Map((await Promise.all(parts)).flatMap((files) => [...files]));
}

/** The environment variables of a container. */
export async function environmentOf(
  { env = [], envFrom = [] }: V1Container,
  referrer: Referrer,
  imageEnv: readonly string[],
): Promise<Map<string, string>> {
  const variables = new Map([
    ['HOSTNAME', referrer.pod.metadata.name],
    ['KUBERNETES_SERVICE_HOST', '10.96.0.1'],
    ['KUBERNETES_SERVICE_PORT', '443'],
  ]);
  for (const text of imageEnv) {
    const [name = '', value = ''] = text.split(/=(.*)/s);
    variables.set(name, value);
  }
  for (const { configMapRef: configMap, secretRef: secret } of envFrom)
    for (const [key, value] of await valuesOf(referrer, { configMap, secret })) variables.set(key, value);
  for (const { name, value = '', valueFrom } of env) {
    if (valueFrom !== undefined && valueFrom.fieldRef === undefined)
      throw new Error(`the variable ${name} has a source that this kubelet does not know: it knows fieldRef`);
    variables.set(name, valueFrom === undefined ? expand(value, variables) : fieldOf(referrer.pod, valueFrom.fieldRef));
  }
  return variables;
}

/** Replaces `$(NAME)` by the value of a variable; an unknown one stays. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$\(([\w.-]+)\)/g, (all, name: string) => variables.get(name) ?? all);
}

function valueAt(values: Files, key: string): string {
  const value = values.get(key);
  if (value === undefined) throw new Error(`there is no key ${key}, only ${[...values.keys()].join(', ')}`);
  return value;
}

/** The values of a ConfigMap or a Secret. */
async function valuesOf({ api, pod }: Referrer, { configMap, secret }: Reference): Promise<Files> {
  const inNamespace = `/api/v1/namespaces/${pod.metadata.namespace}`;
  const secretName = secret?.secretName ?? secret?.name;
  if (secretName !== undefined)
    return new Map(Object.entries(textsOf(await api.get<Secret>(`${inNamespace}/secrets/${secretName}`))));
  if (configMap?.name === undefined)
    throw new Error('a volume or variable has a source that this kubelet does not know');
  const { data = {} } = await api.get<ConfigMap>(`${inNamespace}/configmaps/${configMap.name}`);
  return new Map(Object.entries(data));
}

async function newToken({ api, pod }: Referrer, audience: string | undefined): Promise<string> {
  const { name, namespace, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.spec.serviceAccountName ?? 'default'}/token`;
  const audiences = audience === undefined ? undefined : [audience];
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name, uid };
  const spec = { expirationSeconds: TOKEN_SECONDS, audiences, boundObjectRef };
  const { status } = await api.create<{ readonly status: { readonly token: string } }>(path, { spec });
  return status.token;
}

/** The value at a path such as `metadata.labels['zone']` in a pod; empty when there is none. */
function fieldOf(pod: object, { fieldPath: path = '' } = {}): string {
  const [, outer = path, key] = /^(metadata\.(?:labels|annotations))\['(.+)'\]$/.exec(path) ?? [];
  const steps = [...outer.split('.'), ...(key === undefined ? [] : [key])];
  const found = steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], pod);
  return typeof found === 'string' ? found : '';
}
