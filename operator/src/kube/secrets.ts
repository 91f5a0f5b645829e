/** Secrets and ConfigMaps, and the texts in Secrets, which are in base64. */
import type { Kind, KubeObject } from './objects.ts';

export const SECRET: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' };
export const CONFIG_MAP: Kind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };

export type Texts = Readonly<Record<string, string>>;

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Texts;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Texts;
  /** In base64. */
  readonly binaryData?: Texts;
}

/** Text in a Secret; undefined when the Secret, or the key, is absent or empty. */
export function textIn(secret: Secret | undefined, key: string): string | undefined {
  const found = secret?.data?.[key];
  return found === undefined || found === '' ? undefined : Buffer.from(found, 'base64').toString();
}

export function textsOf({ data = {} }: Secret): Texts {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** The `data` of a Secret with these texts. */
export function dataOf(texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}
