/** From an EventAccess, its Secret and its keys in the cluster to the next action and the status. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { EventAccess, EventAccessStatus } from '../api/index.ts';
import type { ApiKey, NewKey } from '../client/index.ts';
import { defined, type Finding, isOwnedBy, type Secret, textsOf, timestamp } from '../kube/index.ts';
import { type ClusterState, commonStatus, hasFinalizer, isAbandoned, lackOfCluster } from '../reconcile/index.ts';
import { parseKeyText } from './key-text.ts';
import type { Roles } from './roles.ts';

export const FINALIZER = 'cairn.dev/access';
/** Key of the Secret with a key that is not issued yet. */
export const NEXT = '.next';
/** Annotation of the Secret: the rotateKey that its key was issued for. */
const ROTATE_KEY = 'cairn.dev/rotate-key';
const DAY_MS = 86_400_000;

export interface World {
  readonly resource: EventAccess;
  readonly cluster: ClusterState;
  readonly roles: Roles;
  /** The Secret that is to have the key. */
  readonly secret: Secret | undefined;
  /** Keys of the object, by their ids. Unknown: the cluster does not answer, or was not asked. */
  readonly keys: readonly ApiKey[] | { readonly unknown: Error | undefined };
  readonly wallMs: number;
}

export interface Contents {
  readonly current: string | undefined;
  /** True: the text of a new key is made. */
  readonly next: string | true | undefined;
  readonly rotateKey: string | undefined;
}

export type Action =
  | { readonly kind: 'hold' | 'release' | 'make-secret' }
  | { readonly kind: 'write-secret'; readonly contents: Contents }
  | { readonly kind: 'issue'; readonly key: NewKey }
  /** Expire: the key ends later. */
  | { readonly kind: 'expire' | 'revoke'; readonly id: string; readonly expiresMs?: number };

export function plan(world: World): readonly Action[] {
  const { resource, cluster, roles, secret, keys } = world;
  const isHeld = hasFinalizer(resource, FINALIZER);
  if (resource.metadata.deletionTimestamp !== undefined) return isHeld ? planDeletion(world) : [];
  if (!isHeld) return [{ kind: 'hold' }];
  if (cluster.kind !== 'ready' || 'unknown' in keys) return [];
  if (isExpired(world))
    return keys.filter((key) => !hasEnded(key, world.wallMs)).map(({ id }) => ({ kind: 'revoke', id }));
  if ('problem' in roles || isForeign(world)) return [];
  if (secret === undefined) return [{ kind: 'make-secret' }];
  return planKey(world, roles.roles, secret, keys);
}

/** Returns true when the Secret belongs to another owner. */
export function isForeign({ resource, secret }: World): boolean {
  return secret !== undefined && !isOwnedBy(secret, resource);
}

function planKey(world: World, roles: readonly string[], secret: Secret, keys: readonly ApiKey[]): readonly Action[] {
  const { resource } = world;
  const { secret: wanted, rotation } = resource.spec;
  const { [wanted.key]: current, [NEXT]: next } = textsOf(secret);
  const kept = rotateKeyOf(secret);
  const key = usable(world, roles, keys, current);
  if (key !== undefined && kept === rotation.rotateKey) {
    const contents = { current, next: undefined, rotateKey: kept };
    if (!hasContents(world, secret, contents)) return [{ kind: 'write-secret', contents }];
    return planOld(world, key, keys);
  }
  const staged = parseKeyText(next);
  const isIssued = keys.some(({ id }) => id === staged?.id);
  if (staged !== undefined && !isIssued) {
    const { expiresAt } = resource.spec;
    const expiresMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    return [{ kind: 'issue', key: { ...staged, name: subjectOf(resource), roles, expiresMs } }];
  }
  const isReady = usable(world, roles, keys, next) !== undefined;
  const contents = isReady
    ? { current: next, next: undefined, rotateKey: rotation.rotateKey }
    : { current, next: true as const, rotateKey: kept };
  return [{ kind: 'write-secret', contents }];
}

/** Other keys end after the overlap that began with the current one. */
function planOld({ resource, wallMs }: World, current: ApiKey, keys: readonly ApiKey[]): readonly Action[] {
  const endMs = current.createdMs + resource.spec.rotation.overlapSeconds * 1000;
  return keys.flatMap((key): readonly Action[] => {
    const { id, expiresMs = Number.POSITIVE_INFINITY } = key;
    if (id === current.id) return [];
    if (Math.min(endMs, expiresMs) <= wallMs) return [{ kind: 'revoke', id }];
    return expiresMs > endMs ? [{ kind: 'expire', id, expiresMs: endMs }] : [];
  });
}

function planDeletion({ resource, cluster, keys, wallMs }: World): readonly Action[] {
  if (cluster.kind === 'gone' || isAbandoned(resource, wallMs)) return [{ kind: 'release' }];
  if ('unknown' in keys) return [];
  return keys.length === 0 ? [{ kind: 'release' }] : keys.map(({ id }) => ({ kind: 'revoke', id }));
}

/** The key of the cluster that has this text, gives what is wanted, and is not due to be replaced. */
function usable(
  { resource, wallMs }: World,
  roles: readonly string[],
  keys: readonly ApiKey[],
  text: string | undefined,
): ApiKey | undefined {
  const parsed = parseKeyText(text);
  const { everyDays } = resource.spec.rotation;
  const { expiresAt } = resource.spec;
  return keys.find(
    (key) =>
      key.id === parsed?.id &&
      key.sha256 === parsed.sha256 &&
      key.name === subjectOf(resource) &&
      isDeepStrictEqual(key.roles.toSorted(), roles) &&
      key.expiresMs === (expiresAt === undefined ? undefined : Date.parse(expiresAt)) &&
      (everyDays === undefined || wallMs < key.createdMs + everyDays * DAY_MS),
  );
}

export function labelsOf({ spec }: EventAccess): Readonly<Record<string, string>> {
  return { ...spec.secret.labels, 'app.kubernetes.io/managed-by': 'cairn-operator' };
}

export function annotationsOf({ spec }: EventAccess, { rotateKey }: Contents): Readonly<Record<string, string>> {
  return defined({ ...spec.secret.annotations, [ROTATE_KEY]: rotateKey });
}

function rotateKeyOf({ metadata }: Secret): string | undefined {
  return metadata.annotations?.[ROTATE_KEY];
}

function hasContents({ resource }: World, secret: Secret, contents: Contents): boolean {
  const { labels, annotations } = secret.metadata;
  return (
    textsOf(secret)[NEXT] === contents.next &&
    includes(labels, labelsOf(resource)) &&
    includes(annotations, annotationsOf(resource, contents))
  );
}

function includes(found: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value);
}

function isExpired({ resource: { spec }, wallMs }: World): boolean {
  return spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= wallMs;
}

function hasEnded({ expiresMs }: ApiKey, wallMs: number): boolean {
  return expiresMs !== undefined && expiresMs <= wallMs;
}

function subjectOf({ metadata, spec }: EventAccess): string {
  return spec.subject ?? metadata.name;
}

export function secretNameOf({ metadata, spec }: EventAccess): string {
  return spec.secret.name ?? metadata.name;
}

/** Status of the observed world. `failure` is the error of the last action. */
export function statusOf(world: World, failure?: string): EventAccessStatus {
  const { resource, secret, roles, keys, wallMs } = world;
  const known = 'unknown' in keys ? [] : keys;
  const own = isForeign(world) ? undefined : secret;
  const text = own && textsOf(own)[resource.spec.secret.key];
  const key = known.find(({ id }) => id === parseKeyText(text)?.id);
  const isUsable = 'roles' in roles && usable(world, roles.roles, known, text) !== undefined;
  const { keyID, rotatedAt, rotateKey } = resource.status ?? {};
  // While the cluster does not answer, the last known key stays in the status.
  const last = { keyID, rotatedAt, rotateKey };
  const now = key && {
    keyID: key.id,
    rotatedAt: timestamp(key.createdMs),
    rotateKey: own && rotateKeyOf(own),
  };
  const ready: Finding = failure === undefined ? readyOf(world, isUsable) : ['False', 'Failed', failure];
  return {
    ...commonStatus(resource, { Ready: ready, SecretReady: secretReadyOf(world, text) }, wallMs),
    secretName: secretNameOf(resource),
    ...defined('unknown' in keys ? last : (now ?? {})),
  };
}

function secretReadyOf(world: World, text: string | undefined): Finding {
  const name = secretNameOf(world.resource);
  if (world.secret === undefined) return ['False', 'SecretNotFound', `the Secret ${name} does not exist yet`];
  if (isForeign(world))
    return ['False', 'SecretNotOwned', `the Secret ${name} belongs to another owner, and is not overwritten`];
  if (text === undefined) return ['False', 'KeyMissing', `the Secret ${name} has no key yet`];
  return ['True', 'Written', `the Secret ${name} has the key`];
}

function readyOf(world: World, isUsable: boolean): Finding {
  const { resource, cluster, roles, keys } = world;
  const { name } = resource.spec.clusterRef;
  if (resource.metadata.deletionTimestamp !== undefined) return ['False', 'Deleting', 'the keys are being revoked'];
  const lack = lackOfCluster(cluster, name);
  if (lack !== undefined) return lack;
  if ('unknown' in keys)
    return ['Unknown', 'ClusterUnreachable', `the cluster ${name} does not answer: ${keys.unknown?.message ?? ''}`];
  if (isExpired(world)) return ['False', 'Expired', `the key has expired at ${resource.spec.expiresAt}`];
  if ('problem' in roles) return ['False', ...roles.problem];
  if (isForeign(world)) return ['False', 'SecretNotOwned', 'the Secret belongs to another owner'];
  return isUsable ? ['True', 'Issued', 'the key is valid'] : ['False', 'Issuing', 'a key is being issued'];
}
