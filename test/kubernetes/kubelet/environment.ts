/** The variables of a container: those of its image, of objects and fields that it refers to, and of the API server. */
import type { V1Container, V1EnvVarSource } from '@kubernetes/client-node';
import type { Pod } from '../objects.ts';
import { type Files, fieldOf, type Projector } from './projected.ts';
import { amountOf } from './quantity.ts';

export interface Surroundings {
  readonly pod: Pod;
  readonly projector: Projector;
  readonly imageEnv: readonly string[];
  readonly podIP: string;
  readonly hostIP: string;
}

/** @throws Error when something is missing that is not optional. */
export async function environmentOf(container: V1Container, around: Surroundings): Promise<Map<string, string>> {
  const { pod, projector, imageEnv } = around;
  const variables = new Map([
    ['HOSTNAME', pod.metadata.name],
    ['KUBERNETES_SERVICE_HOST', '10.96.0.1'],
    ['KUBERNETES_SERVICE_PORT', '443'],
    ...imageEnv.map(splitVariable),
  ]);
  for (const { configMapRef, secretRef, prefix = '' } of container.envFrom ?? []) {
    const kind = configMapRef === undefined ? 'secrets' : 'configmaps';
    const { name = '', optional } = configMapRef ?? secretRef ?? {};
    for (const [key, value] of await projector.valuesOf(kind, { name, optional }, pod)) {
      variables.set(`${prefix}${key}`, String(value));
    }
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const found = valueFrom === undefined ? expand(value, variables) : await referred(valueFrom, container, around);
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
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef }: V1EnvVarSource,
  container: V1Container,
  { pod, projector, podIP, hostIP }: Surroundings,
): Promise<string | undefined> {
  if (fieldRef !== undefined) {
    const status = Object.assign({}, pod.status, { podIP, hostIP });
    return fieldOf({ ...pod, status }, fieldRef.fieldPath);
  }
  if (resourceFieldRef !== undefined) {
    const [kind, resource = ''] = resourceFieldRef.resource.split('.');
    const amounts = kind === 'limits' ? container.resources?.limits : container.resources?.requests;
    return String(Math.ceil(amountOf(amounts?.[resource]) / amountOf(resourceFieldRef.divisor ?? '1')));
  }
  const kind = configMapKeyRef === undefined ? 'secrets' : 'configmaps';
  const { name = '', key = '', optional } = configMapKeyRef ?? secretKeyRef ?? {};
  const values: Files = await projector.valuesOf(kind, { name, optional }, pod);
  const value = values.get(key);
  if (value === undefined && optional !== true) throw new Error(`${kind} ${name} has no key ${key}`);
  return value === undefined ? undefined : String(value);
}

function splitVariable(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}
