/** Carries out actions: makes the keys, and writes the Secret. */
import { type Api, dataOf, pathOf, SECRET } from '../kube/index.ts';
import { KEYS, metadataOf } from '../objects/index.ts';
import type { SecretAction } from './plan.ts';

const TLS_TYPE = 'kubernetes.io/tls';

/**
 * Creates or replaces the Secret. It is never overwritten unseen: a Secret that exists meanwhile, or has changed, is an
 * error with the code 409, after which the world is observed again.
 */
export async function writeSecret(api: Api, action: SecretAction): Promise<void> {
  const body = await secretOf(action);
  const { namespace } = action.cluster.metadata;
  if (action.found === undefined) await api.create(pathOf(SECRET, { namespace }), body);
  else await api.replace(pathOf(SECRET, { namespace, name: action.name }), body);
}

export async function secretOf(action: SecretAction): Promise<object> {
  const { cluster, name, found, texts, make } = action;
  const all = { ...texts, ...(await make?.()) };
  const own = metadataOf(cluster, { name });
  const labels = { ...found?.metadata.labels, ...own.labels };
  const type = found?.type ?? (KEYS.certificate in all ? TLS_TYPE : 'Opaque');
  return {
    apiVersion: SECRET.apiVersion,
    kind: SECRET.kind,
    metadata: { ...found?.metadata, ...own, labels },
    type,
    data: dataOf(all),
  };
}
