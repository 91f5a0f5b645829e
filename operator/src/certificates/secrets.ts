/** Secrets and ConfigMaps as planning reads them, and their texts. */
import type { CairnCluster } from '../api/index.ts';
import type { KubeObject } from '../kube/index.ts';
import { OPERATOR } from '../objects/index.ts';
import type { Pair } from './issue.ts';

export type Texts = Readonly<Record<string, string>>;

interface OwnerReference {
  readonly uid: string;
}

export interface Secret extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly ownerReferences?: readonly OwnerReference[] };
  readonly type?: string;
  /** In base64. */
  readonly data?: Texts;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Texts;
}

/** Objects of the namespace of a cluster, by their names. An object that does not exist is absent. */
export interface FoundObjects {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
}

/** Text in a Secret; undefined when the Secret, or the key, is absent or empty. */
export function textIn(secret: Secret | undefined, key: string): string | undefined {
  const found = secret?.data?.[key];
  return found === undefined || found === '' ? undefined : Buffer.from(found, 'base64').toString();
}

export function pairIn(secret: Secret | undefined, certificateKey: string, privateKeyKey: string): Pair | undefined {
  const [certificate, privateKey] = [textIn(secret, certificateKey), textIn(secret, privateKeyKey)];
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

/** Whether the operator made the Secret, or cert-manager did, from which the operator takes over. */
export function isReplaceable({ metadata: { labels, annotations } }: Secret): boolean {
  return (
    labels?.['app.kubernetes.io/managed-by'] === OPERATOR ||
    annotations?.['cert-manager.io/certificate-name'] !== undefined
  );
}

export function isOwnedBy(
  { metadata: { ownerReferences = [] } }: Secret,
  { metadata: { uid } }: CairnCluster,
): boolean {
  return ownerReferences.some((owner) => owner.uid === uid);
}
