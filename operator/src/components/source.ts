/** The component of a source: its digest, and its bytes when it is published. */
import { type Api, CONFIG_MAP, type ConfigMap, type Kind, SECRET, textIn } from '../kube/index.ts';
import { credentialFor, digestOf, Registry } from './oci.ts';
import type { ComponentResource } from './world.ts';

export interface LoadedSource {
  readonly digest: string;
  load(): Promise<Buffer>;
}

/** A source that a person must correct, such as one that does not exist. */
export class SourceProblem extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

const DOCKER_CONFIG = '.dockerconfigjson';

/**
 * Reads a ConfigMap or Secret, or resolves the tag of an artifact. The tag is resolved once for each generation of the
 * spec: `resolved` is the digest of this generation, if it is known.
 */
export async function loadedFrom(api: Api, resource: ComponentResource, resolved?: string): Promise<LoadedSource> {
  const { namespace } = resource.metadata;
  const { oci, configMap, secret } = resource.spec.source;
  if (oci !== undefined) {
    const registry = async (): Promise<Registry> => {
      const { reference, pullSecretName } = oci;
      if (pullSecretName === undefined) return new Registry(reference);
      const config = textIn(await read(api, SECRET, namespace, pullSecretName), DOCKER_CONFIG);
      if (config === undefined)
        throw new SourceProblem('PullSecretInvalid', `the Secret ${pullSecretName} has no ${DOCKER_CONFIG}`);
      return new Registry(reference, credentialFor(reference, config));
    };
    const digest = resolved ?? (await (await registry()).resolve());
    let bytes: Promise<Buffer> | undefined;
    // Several databases publish the same bytes.
    const load = async (): Promise<Buffer> => (await registry()).load(digest);
    return { digest, load: () => (bytes ??= load()) };
  }
  const from = configMap === undefined ? { kind: SECRET, ...secret } : { kind: CONFIG_MAP, ...configMap };
  const bytes = await valueOf(api, namespace, from);
  return { digest: digestOf(bytes), load: async () => bytes };
}

interface From {
  readonly kind: Kind;
  readonly name?: string;
  readonly key?: string;
}

async function valueOf(api: Api, namespace: string, { kind, name = '', key = '' }: From): Promise<Buffer> {
  const field = kind === SECRET ? 'data' : 'binaryData';
  const encoded = (await read(api, kind, namespace, name))[field]?.[key];
  if (encoded === undefined)
    throw new SourceProblem('SourceNotFound', `the ${kind.kind} ${name} has no ${field} with the key ${key}`);
  return Buffer.from(encoded, 'base64');
}

async function read(api: Api, kind: Kind, namespace: string, name: string): Promise<ConfigMap> {
  const found = await api.find<ConfigMap>(kind, { namespace, name });
  if (found === undefined) throw new SourceProblem('SourceNotFound', `there is no ${kind.kind} ${name}`);
  return found;
}
