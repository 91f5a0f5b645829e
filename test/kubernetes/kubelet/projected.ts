/**
 * Files and variables that Kubernetes objects project into a container: ConfigMaps, Secrets, tokens of a service
 * account, and fields of the pod.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container, V1EnvVarSource, V1Volume, V1VolumeProjection } from '@kubernetes/client-node';
import { type Api, unless } from '../../../operator/src/kube/index.ts';
import type { Pod, Values } from '../objects.ts';
import { HOST } from '../world.ts';

/** Contents by path. */
export type Files = ReadonlyMap<string, Buffer>;

/** A pod, and where the objects are that it refers to. */
export interface Referrer {
  readonly api: Api;
  readonly pod: Pod;
}

/** A reference to one of the two; a volume names a Secret by a field of its own. */
interface Reference {
  readonly configMap?: { readonly name?: string; readonly optional?: boolean } | undefined;
  readonly secret?: { readonly name?: string; readonly secretName?: string; readonly optional?: boolean } | undefined;
}

/** Longer than any world lasts: tokens are not renewed. */
const TOKEN_SECONDS = 7 * 86_400;

/**
 * The files of a volume, of which `dir` has those of before. @throws Error when an object is missing that is not
 * optional.
 */
export async function filesOf(volume: V1Volume, referrer: Referrer, dir: string): Promise<Files> {
  const sources: readonly V1VolumeProjection[] = volume.projected?.sources ?? [volume];
  const parts = sources.map(async ({ configMap, secret, downwardAPI, serviceAccountToken }): Promise<Files> => {
    if (serviceAccountToken !== undefined) {
      const { path, audience } = serviceAccountToken;
      const file = join(dir, path);
      return new Map([[path, existsSync(file) ? readFileSync(file) : await newToken(referrer, audience)]]);
    }
    const fields = downwardAPI?.items?.map(({ path, fieldRef }) => [path, fieldOf(referrer.pod, fieldRef?.fieldPath)]);
    if (fields !== undefined) return new Map(fields.map(([path = '', value = '']) => [path, Buffer.from(value)]));
    const what = `volume ${volume.name}`;
    const values = await valuesOf(referrer, { configMap, secret }, what);
    const { items = [...values.keys()].map((key) => ({ key, path: key })), optional } = configMap ?? secret ?? {};
    const found = items.filter(({ key }) => optional !== true || values.has(key));
    return new Map(found.map(({ key, path }) => [path, valueAt(values, key, what)]));
  });
  return new Map((await Promise.all(parts)).flatMap((files) => [...files]));
}

/** The variables of a container. @throws Error when something is missing that is not optional. */
export async function environmentOf(
  container: V1Container,
  pod: Referrer & { readonly address: string },
  imageEnv: readonly string[],
): Promise<Map<string, string>> {
  const variables = new Map([
    ['HOSTNAME', pod.pod.metadata.name],
    ['KUBERNETES_SERVICE_HOST', '10.96.0.1'],
    ['KUBERNETES_SERVICE_PORT', '443'],
    ...imageEnv.map(splitVariable),
  ]);
  for (const { configMapRef, secretRef, prefix = '' } of container.envFrom ?? []) {
    const values = await valuesOf(pod, { configMap: configMapRef, secret: secretRef }, 'envFrom');
    for (const [key, value] of values) variables.set(`${prefix}${key}`, String(value));
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const found = valueFrom === undefined ? expand(value, variables) : await referred(name, valueFrom, pod);
    if (found !== undefined) variables.set(name, found);
  }
  return variables;
}

/** `$(NAME)` becomes the value of a variable, `$$` a dollar; what is not known stays. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([\w.-]+)\)/g, (all, name: string | undefined) =>
    name === undefined ? '$' : (variables.get(name) ?? all),
  );
}

async function referred(
  variable: string,
  { fieldRef, configMapKeyRef: configMap, secretKeyRef: secret }: V1EnvVarSource,
  pod: Referrer & { readonly address: string },
): Promise<string | undefined> {
  if (fieldRef !== undefined) {
    const status = Object.assign({}, pod.pod.status, { podIP: pod.address, hostIP: HOST });
    return fieldOf({ ...pod.pod, status }, fieldRef.fieldPath);
  }
  const { key = '', optional = false } = configMap ?? secret ?? {};
  const what = `variable ${variable}`;
  const values = await valuesOf(pod, { configMap, secret }, what);
  return optional && !values.has(key) ? undefined : String(valueAt(values, key, what));
}

function valueAt(values: Files, key: string, what: string): Buffer {
  const value = values.get(key);
  if (value === undefined) throw new Error(`${what}: there is no key ${key}, only ${[...values.keys()].join(', ')}`);
  return value;
}

function splitVariable(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The values of a ConfigMap or a Secret; none when it is optional and missing. */
async function valuesOf({ api, pod }: Referrer, { configMap, secret }: Reference, what: string): Promise<Files> {
  const [kind, encoding] =
    configMap === undefined ? (['secrets', 'base64'] as const) : (['configmaps', 'utf8'] as const);
  const { name = secret?.secretName, optional = false } = configMap ?? secret ?? {};
  if (name === undefined) throw new Error(`${what} refers to something that this kubelet does not know`);
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/${kind}/${name}`;
  const found = await api.get<Values>(path).catch(unless(...(optional ? [404] : [])));
  return new Map(Object.entries(found?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}

async function newToken({ api, pod }: Referrer, audience: string | undefined): Promise<Buffer> {
  const { name, namespace, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.spec.serviceAccountName ?? 'default'}/token`;
  const audiences = audience === undefined ? undefined : [audience];
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name, uid };
  const spec = { expirationSeconds: TOKEN_SECONDS, audiences, boundObjectRef };
  const { status } = await api.create<{ readonly status: { readonly token: string } }>(path, { spec });
  return Buffer.from(status.token);
}

/** The value of a path such as `metadata.labels['zone']` in a pod; empty when it has none. */
function fieldOf(pod: object, path = ''): string {
  const [, outer = path, key] = /^(metadata\.(?:labels|annotations))\['(.+)'\]$/.exec(path) ?? [];
  const steps = [...outer.split('.'), ...(key === undefined ? [] : [key])];
  const found = steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], pod);
  return typeof found === 'string' ? found : '';
}
