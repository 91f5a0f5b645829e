/** Kubernetes objects as far as the machinery reads them, their paths, keys, timestamps and hashes. */
import { createHash } from 'node:crypto';

export interface Metadata {
  /** Absent in cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Increases with each change of the spec. */
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly { readonly uid: string }[];
}

/** An object of the API server. Items in lists of built-in kinds have neither apiVersion nor kind. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Metadata;
  readonly status?: object;
}

/** A kind of object, such as `{ apiVersion: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets' }`. */
export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Path of an object. Without a name: of all objects in the namespace; without a namespace: of all objects. */
export function pathOf({ apiVersion, plural }: Kind, { namespace, name }: Place = {}): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${root}${within}/${plural}${name === undefined ? '' : `/${name}`}`;
}

export function typeOf({ apiVersion, kind }: Kind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion, kind };
}

/** Key of an object in stores and queues: `namespace/name`. */
export function keyOf({ metadata: { namespace = '', name } }: { readonly metadata: Place }): string {
  return `${namespace}/${name ?? ''}`;
}

/** The reference of an object to its owner and controller, with which it is deleted. */
export function ownerReference({ apiVersion, kind }: Kind, { metadata: { name, uid } }: KubeObject): object {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function isOwnedBy(
  { metadata: { ownerReferences = [] } }: KubeObject,
  { metadata: { uid } }: KubeObject,
): boolean {
  return ownerReferences.some((owner) => owner.uid === uid);
}

type Defined<Members> = { readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/** An object without the members that are undefined. */
export function defined<Members extends object>(members: Members): Defined<Members> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- members without a value are left out
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<Members>;
}

export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+/, '');
}

/** Format of the timestamps of leases and events. */
export function microTimestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}

/** SHA-256 in hexadecimal digits. */
export function sha256Of(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
