// The objects of an API server in memory, with versions and owners of fields. Every write is a change in a log, which
// serves older states and watches.
import { isDeepStrictEqual } from 'node:util';

export type Json = Readonly<Record<string, unknown>>;

export interface Stored extends Json {
  readonly metadata: Json & {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
}

export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly collection: string;
  readonly object: Stored;
}

/** The object of a request. A collection is a path without namespace and name. */
export interface Target {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly isStatus: boolean;
}

/** An error response. */
export class Refusal extends Error {
  readonly code: number;
  readonly status: Json;

  constructor(code: number, reason: string, message: string, causes: readonly Json[] = []) {
    super(message);
    this.code = code;
    this.status = { kind: 'Status', status: 'Failure', code, reason, message, details: { causes } };
  }
}

/** Fields of the metadata that clients change. */
const WRITABLE: readonly string[] = ['labels', 'annotations', 'finalizers', 'ownerReferences'];

/** Managers by the path of their field, as JSON. */
type Owners = Map<string, Set<string>>;

export class Store {
  /** Called after every write. */
  onChange: (change: Change) => void = () => undefined;
  /** Wall clock of deletion timestamps. */
  wallMs: () => number = () => 0;
  version = 100;
  /** Changes up to this version were dropped. */
  compacted = 0;
  readonly log: Change[] = [];
  readonly #objects = new Map<string, Stored>();
  readonly #owners = new Map<string, Owners>();

  /** Objects of a collection at a version, sorted by key. */
  list(collection: string, namespace?: string, at: number = this.version): readonly Stored[] {
    const found = new Map<string, Stored>();
    for (const change of this.log) {
      if (change.version > at || change.collection !== collection) continue;
      const key = nameOf(change.object);
      if (change.type === 'DELETED') found.delete(key);
      else found.set(key, change.object);
    }
    const isWithin = (object: Stored): boolean => namespace === undefined || object.metadata.namespace === namespace;
    return [...found.keys()]
      .toSorted()
      .flatMap((key) => found.get(key) ?? [])
      .filter(isWithin);
  }

  get(target: Target): Stored {
    const found = this.#objects.get(keyOf(target));
    if (found === undefined) throw new Refusal(404, 'NotFound', `${keyOf(target)} not found`);
    return found;
  }

  create(target: Target, body: Json, manager: string): Stored {
    if (this.#objects.has(keyOf(target))) throw new Refusal(409, 'AlreadyExists', `${keyOf(target)} already exists`);
    const { status: _status, ...rest } = body;
    const { namespace, name } = target;
    const metadata = {
      ...(rest['metadata'] as Json),
      ...(namespace && { namespace }),
      name,
      uid: `uid-${this.version}`,
    };
    const made = { ...rest, metadata: { ...metadata, generation: 1, resourceVersion: '' } };
    this.#owners.set(metadata.uid, new Map(leavesOf(made).map(([path]) => [path, new Set([manager])])));
    return this.#write(target, 'ADDED', made);
  }

  /** Replaces the spec or the status. */
  replace(target: Target, body: Json, manager: string): Stored {
    const before = this.get(target);
    hold(before, body);
    const { status: _status, ...rest } = target.isStatus ? before : body;
    const { status } = target.isStatus ? body : before;
    const next = this.#next(before, { ...rest, ...(status === undefined ? {} : { status }) });
    for (const [path, value] of leavesOf(next)) {
      if (!isDeepStrictEqual(value, valueAt(before, path))) this.#ownersOf(before).set(path, new Set([manager]));
    }
    return this.#update(target, before, next);
  }

  merge(target: Target, patch: Json, manager: string): Stored {
    return this.replace(target, merged(this.get(target), patch), manager);
  }

  /** Server-side apply by force. Lists are owned as a whole. */
  apply(target: Target, body: Json, manager: string): Stored {
    const uid = (body['metadata'] as Json)['uid'];
    if (uid !== undefined && this.#objects.get(keyOf(target)) === undefined) throw conflict('no object has the uid');
    if (!target.isStatus && !this.#objects.has(keyOf(target))) return this.create(target, body, manager);
    const before = this.get(target);
    hold(before, body);
    const owners = this.#ownersOf(before);
    const wanted = leavesOf(body).filter(([path]) => isStatusPath(path) === target.isStatus);
    const draft = structuredClone(before) as Record<string, unknown>;
    const paths = new Set(wanted.map(([path]) => path));
    for (const [path, owned] of owners) {
      if (paths.has(path) || isStatusPath(path) !== target.isStatus || !owned.delete(manager) || owned.size > 0)
        continue;
      owners.delete(path);
      setAt(draft, path, undefined);
    }
    for (const [path, value] of wanted) {
      const isSame = isDeepStrictEqual(value, valueAt(before, path));
      owners.set(path, isSame ? (owners.get(path) ?? new Set<string>()).add(manager) : new Set([manager]));
      setAt(draft, path, value);
    }
    return this.#update(target, before, this.#next(before, draft));
  }

  /** Removes the object, or marks it as being deleted while it has finalizers. */
  delete(target: Target, preconditions: Json = {}): Stored {
    const before = this.get(target);
    hold(before, { metadata: preconditions });
    const { finalizers = [], deletionTimestamp, generation } = before.metadata;
    if (finalizers.length === 0) return this.#write(target, 'DELETED', before);
    if (deletionTimestamp !== undefined) return before;
    const deleted = new Date(this.wallMs()).toISOString().replace(/\.\d+/, '');
    const metadata = { ...before.metadata, deletionTimestamp: deleted, generation: generation + 1 };
    return this.#write(target, 'MODIFIED', { ...before, metadata });
  }

  /** Deletes the objects whose owners are all gone. */
  collect(): void {
    const uids = new Set([...this.#objects.values()].map(({ metadata }) => metadata.uid));
    for (const [key, { metadata }] of this.#objects) {
      const { ownerReferences: owners = [], namespace, name } = metadata;
      const [collection = ''] = key.split(' ');
      if (owners.length > 0 && owners.every(({ uid }) => !uids.has(uid)))
        this.delete({ collection, namespace, name, isStatus: false });
    }
  }

  #update(target: Target, before: Stored, next: Stored): Stored {
    if (isDeepStrictEqual(next, before)) return before;
    const { deletionTimestamp, finalizers = [] } = next.metadata;
    if (deletionTimestamp === undefined) return this.#write(target, 'MODIFIED', next);
    if (finalizers.some((finalizer) => !before.metadata.finalizers?.includes(finalizer)))
      throw new Refusal(422, 'Invalid', 'no new finalizers can be added if the object is being deleted');
    return this.#write(target, finalizers.length === 0 ? 'DELETED' : 'MODIFIED', next);
  }

  #next(before: Stored, { metadata, ...rest }: Json): Stored {
    const kept = Object.fromEntries(Object.entries(before.metadata).filter(([field]) => !WRITABLE.includes(field)));
    const written = Object.entries((metadata ?? {}) as Json).filter(([field]) => WRITABLE.includes(field));
    const isSpecSame = isDeepStrictEqual(rest['spec'], before['spec']);
    const generation = before.metadata.generation + (isSpecSame ? 0 : 1);
    return { ...rest, metadata: { ...kept, ...Object.fromEntries(written), generation } as Stored['metadata'] };
  }

  #write(target: Target, type: Change['type'], object: Stored): Stored {
    this.version += 1;
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
    if (type === 'DELETED') this.#objects.delete(keyOf(target));
    else this.#objects.set(keyOf(target), written);
    const change = { version: this.version, type, collection: target.collection, object: written };
    this.log.push(change);
    this.onChange(change);
    return written;
  }

  #ownersOf({ metadata: { uid } }: Stored): Owners {
    return this.#owners.get(uid) ?? new Map<string, Set<string>>();
  }
}

/** Fails when the body names another version or uid than that of the object. */
function hold({ metadata }: Stored, body: Json): void {
  const wanted = (body['metadata'] ?? {}) as Json;
  for (const field of ['uid', 'resourceVersion']) {
    if (wanted[field] !== undefined && wanted[field] !== metadata[field])
      throw conflict(`the ${field} of the object is ${String(metadata[field])}`);
  }
}

function conflict(message: string): Refusal {
  return new Refusal(409, 'Conflict', message);
}

function keyOf({ collection, namespace = '', name }: Target): string {
  return `${collection} ${namespace}/${name}`;
}

function nameOf({ metadata: { namespace = '', name } }: Stored): string {
  return `${namespace}/${name}`;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Paths and values of the fields that have owners. */
function leavesOf(object: Json, at: readonly string[] = []): readonly (readonly [path: string, value: unknown])[] {
  return Object.entries(object).flatMap(([field, value]) => {
    const path = [...at, field];
    if (at.length === 0 && (field === 'apiVersion' || field === 'kind')) return [];
    if (at.length === 1 && at[0] === 'metadata' && !WRITABLE.includes(field)) return [];
    return isObject(value) ? leavesOf(value, path) : [[JSON.stringify(path), value] as const];
  });
}

function isStatusPath(path: string): boolean {
  return path.startsWith('["status"');
}

function valueAt(object: Json, path: string): unknown {
  return (JSON.parse(path) as string[]).reduce<unknown>(
    (value, field) => (isObject(value) ? value[field] : undefined),
    object,
  );
}

function setAt(object: Record<string, unknown>, path: string, value: unknown): void {
  const fields = JSON.parse(path) as string[];
  const last = fields.pop() ?? '';
  const parent = fields.reduce((within, field) => (within[field] ??= {}) as Record<string, unknown>, object);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
}

/** A merge patch (RFC 7386): null removes a field. */
export function merged(object: Json, patch: Json): Json {
  const next: Record<string, unknown> = { ...object };
  for (const [field, value] of Object.entries(patch)) {
    const before = next[field];
    if (value === null) delete next[field];
    else next[field] = isObject(value) ? merged(isObject(before) ? before : {}, value) : value;
  }
  return next;
}
