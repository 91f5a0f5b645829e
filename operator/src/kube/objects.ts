/** Objects of Kubernetes as the machinery sees them, and the paths where the API server has them. */

export interface Metadata {
  /** Absent: the object belongs to no namespace. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Changes with the spec. */
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What the API server has. Items of a list say neither apiVersion nor kind. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Metadata;
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

/** The path of an object; without a name of all objects in a namespace, without a namespace of all there are. */
export function pathOf({ apiVersion, plural }: Kind, { namespace, name }: Place = {}): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${root}${within}/${plural}${name === undefined ? '' : `/${name}`}`;
}

/** What an object of the kind says about itself. */
export function typeOf({ apiVersion, kind }: Kind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion, kind };
}

/** `namespace/name`, by which stores and queues know an object. */
export function keyOf({ metadata: { namespace = '', name } }: { readonly metadata: Place }): string {
  return `${namespace}/${name ?? ''}`;
}

/** The place that a key stands for. */
export function placeOf(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace: namespace === '' ? undefined : namespace, name };
}

/** A time as Kubernetes writes it into most fields. */
export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+/, '');
}

/** A time as leases and events have it. */
export function microTimestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
