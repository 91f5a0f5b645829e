/** Carries out actions: makes the keys, and writes the Secret. */
import { randomInt } from 'node:crypto';
import { type Api, dataOf, pathOf, SECRET, type Texts } from '../kube/index.ts';
import { KEYS, metadataOf } from '../objects/index.ts';
import { makeAuthority, makeCertificate, type Pair } from './issue.ts';
import type { SecretAction } from './plan.ts';

const TLS_TYPE = 'kubernetes.io/tls';
const RANDOM_LENGTH = 64;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

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
  const { cluster, name, found, texts } = action;
  const all = { ...texts, ...(await newTexts(action)) };
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

async function newTexts({ cluster, recipe }: SecretAction): Promise<Texts> {
  switch (recipe.kind) {
    case 'texts':
      return {};
    case 'random':
      return {
        [recipe.key]: Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join(''),
      };
    case 'authority':
      return textsOfPair(await makeAuthority(cluster.metadata.namespace, recipe.validity), recipe.as);
    case 'certificate': {
      const pair = await makeCertificate(recipe.authority, recipe.names, recipe.validity);
      return textsOfPair(pair, [KEYS.certificate, KEYS.privateKey]);
    }
  }
}

function textsOfPair({ certificate, privateKey }: Pair, [certificateKey, keyKey]: readonly [string, string]): Texts {
  return { [certificateKey]: certificate, [keyKey]: privateKey };
}
