/** The controller of EventAccess: observes keys and a Secret, and carries out what plan.ts wants. */
import { randomBytes } from 'node:crypto';
import { type CairnCluster, EVENT_ACCESS, type EventAccess, type EventDatabase } from '../api/index.ts';
import type { ApiKey, Keys } from '../client/index.ts';
import {
  type Api,
  apply,
  asError,
  type Controller,
  type EventRecorder,
  type EventText,
  type Informer,
  type KubeObject,
  keyOf,
  type Outcome,
  pathOf,
  SECRET,
  type Source,
  sourceOf,
  unless,
} from '../kube/index.ts';
import { type ClusterState, type Clusters, reportStatus, setFinalizer } from '../reconcile/index.ts';
import { idPrefixOf, newKeyText } from './key-text.ts';
import {
  type Action,
  annotationsOf,
  type Contents,
  FINALIZER,
  type Kept,
  labelsOf,
  NEXT,
  plan,
  secretNameOf,
  statusOf,
  type World,
} from './plan.ts';
import { type Roles, rolesOf } from './roles.ts';

export interface AccessControllerOptions {
  readonly api: Api;
  readonly informer: Informer<EventAccess>;
  readonly databases: Informer<EventDatabase>;
  readonly clusters: Clusters;
  readonly connect: (cluster: CairnCluster) => Promise<Keys>;
  readonly events: EventRecorder;
  /** Cryptographically secure random bytes. */
  readonly random?: (count: number) => Buffer;
}

interface Secret extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly ownerReferences?: readonly { readonly uid: string }[] };
  readonly data?: Readonly<Record<string, string>>;
}

/** A planned action and the world that it was planned for. */
interface Step {
  readonly action: Action;
  readonly world: Observed;
}

interface Observed extends World {
  /** Absent: it does not exist. */
  readonly object: Secret | undefined;
}

const MANAGER = 'cairn-access';
const STATUS_MANAGER = 'cairn-access-status';
const KEY_BYTES = 40;
/** A cluster without authentication has no keys. */
const OPEN: Roles = { problem: ['AuthenticationOff', 'the cluster does not authenticate clients: none needs a key'] };

const EVENTS: Partial<Record<Action['kind'], Omit<EventText, 'action'>>> = {
  issue: { type: 'Normal', reason: 'Issued', note: 'an API key was issued' },
  revoke: { type: 'Normal', reason: 'Revoked', note: 'an API key was revoked' },
};

export class AccessController implements Controller<Observed, Step> {
  readonly name = 'access';
  readonly #options: AccessControllerOptions;

  constructor(options: AccessControllerOptions) {
    this.#options = options;
  }

  get sources(): readonly Source[] {
    const { informer, databases, clusters } = this.#options;
    const dependents = (namespace: string, cluster: string): readonly string[] =>
      [...informer.items.values()]
        .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.clusterRef.name === cluster)
        .map(keyOf);
    const ofDatabase = ({ metadata, spec }: EventDatabase): readonly string[] =>
      dependents(metadata.namespace, spec.clusterRef.name);
    const ofCluster = ({ metadata }: CairnCluster): readonly string[] => dependents(metadata.namespace, metadata.name);
    return [sourceOf(informer), sourceOf(databases, ofDatabase), clusters.source(ofCluster)];
  }

  async observe(key: string): Promise<Observed | undefined> {
    const { api, informer, clusters, databases } = this.#options;
    const resource = informer.items.get(key);
    if (resource === undefined) return undefined;
    const { metadata, spec } = resource;
    const { namespace } = metadata;
    const name = secretNameOf(resource);
    const object = await api.get<Secret>(pathOf(SECRET, { namespace, name })).catch(unless(404));
    const cluster = await clusters.find(namespace, spec.clusterRef.name);
    const granted = [...databases.items.values()].filter(
      (database) => database.metadata.namespace === namespace && database.spec.clusterRef.name === spec.clusterRef.name,
    );
    const isOpen = cluster.kind === 'ready' && !cluster.cluster.spec.auth.enabled;
    const roles = isOpen ? OPEN : rolesOf(spec.grants, granted);
    const keys = await this.#keysOf(resource, cluster);
    const secret = keptOf(resource, object);
    return { resource, cluster, roles, secret, object, keys, wallMs: api.runtime.wallMs() };
  }

  plan(world: Observed): readonly Step[] {
    return plan(world).map((action) => ({ action, world }));
  }

  isIrreversible(): boolean {
    return true;
  }

  async act({ action, world }: Step): Promise<void> {
    const { api } = this.#options;
    const { resource: object } = world;
    switch (action.kind) {
      case 'hold':
      case 'release':
        await setFinalizer(api, { kind: EVENT_ACCESS, object }, FINALIZER, action.kind === 'hold');
        break;
      case 'make-secret':
        await this.#makeSecret(object);
        break;
      case 'write-secret':
        await this.#writeSecret(world, action.contents);
        break;
      case 'issue':
        await (await this.#keys(world)).issue(action.key);
        break;
      case 'expire':
        await (await this.#keys(world)).expire(action.id, action.expiresMs);
        break;
      case 'revoke':
        await (await this.#keys(world)).revoke(action.id);
        break;
    }
    const event = EVENTS[action.kind];
    const { apiVersion, kind } = EVENT_ACCESS;
    if (event) this.#options.events.record({ ...object, apiVersion, kind }, { action: 'Reconcile', ...event });
  }

  /** A pass that acted reports nothing: its world has changed, and the next pass observes it. */
  async report(world: Observed, { done, failure }: Outcome<Step>): Promise<void> {
    if (done > 0) return;
    const status = statusOf(world, failure?.message);
    const write = { kind: EVENT_ACCESS, object: world.resource, status, manager: STATUS_MANAGER };
    await reportStatus(this.#options.api, write);
    // The queue retries sooner than the next regular check.
    if ('unknown' in world.keys && world.keys.unknown !== undefined) throw world.keys.unknown;
    if (world.secret.kind === 'foreign') throw new Error('the Secret belongs to another owner');
  }

  /** Creates it without a key. Fails when one exists (KE2). */
  async #makeSecret(resource: EventAccess): Promise<void> {
    const { namespace } = resource.metadata;
    const metadata = { name: secretNameOf(resource), ownerReferences: [ownerOf(resource)] };
    await this.#options.api.create(pathOf(SECRET, { namespace }), { metadata, type: 'Opaque' });
  }

  /** Fails when the Secret is another one, or has changed, since it was observed. */
  async #writeSecret({ resource, object }: Observed, contents: Contents): Promise<void> {
    const { api, random = randomBytes } = this.#options;
    const { namespace, uid } = resource.metadata;
    const next = contents.next === true ? newKeyText(uid, random(KEY_BYTES)) : contents.next;
    const data = { [resource.spec.secret.key]: contents.current, [NEXT]: next };
    const texts = Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const metadata = {
      namespace,
      name: secretNameOf(resource),
      uid: object?.metadata.uid,
      resourceVersion: object?.metadata.resourceVersion,
      ownerReferences: [ownerOf(resource)],
      labels: labelsOf(resource),
      annotations: annotationsOf(resource, contents),
    };
    const encoded = texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    await apply(api, SECRET, { metadata, data: Object.fromEntries(encoded) }, { manager: MANAGER, force: true });
  }

  #keys({ cluster }: Observed): Promise<Keys> {
    if (cluster.kind !== 'ready') throw new Error('the cluster is not ready');
    return this.#options.connect(cluster.cluster);
  }

  async #keysOf({ metadata }: EventAccess, state: ClusterState): Promise<World['keys']> {
    if (state.kind !== 'ready') return { unknown: undefined };
    if (!state.cluster.spec.auth.enabled) return [];
    try {
      const keys: readonly ApiKey[] = await (await this.#options.connect(state.cluster)).list();
      return keys.filter(({ id }) => id.startsWith(idPrefixOf(metadata.uid)));
    } catch (error) {
      return { unknown: asError(error) };
    }
  }
}

function keptOf({ metadata: { uid } }: EventAccess, secret: Secret | undefined): Kept {
  if (secret === undefined) return { kind: 'none' };
  const { ownerReferences = [], labels = {}, annotations = {} } = secret.metadata;
  if (!ownerReferences.some((owner) => owner.uid === uid)) return { kind: 'foreign' };
  const data: Record<string, string> = {};
  for (const [key, value] of Object.entries(secret.data ?? {})) data[key] = Buffer.from(value, 'base64').toString();
  return { kind: 'own', data, labels, annotations };
}

function ownerOf({ metadata: { name, uid } }: EventAccess): object {
  const { apiVersion, kind } = EVENT_ACCESS;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
