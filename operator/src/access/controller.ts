/** The controller of EventAccess: observes keys and a Secret, and carries out what plan.ts wants. */
import { randomBytes } from 'node:crypto';
import { EVENT_ACCESS, type EventAccess, type EventDatabase } from '../api/index.ts';
import type { ApiKey, Keys } from '../client/index.ts';
import {
  apply,
  asError,
  dataOf,
  type EventText,
  type Informer,
  keyOf,
  ownerReference,
  pathOf,
  SECRET,
  type Secret,
  sourceOf,
} from '../kube/index.ts';
import {
  type ClusterState,
  ofCluster,
  type ResourceController,
  type ResourceOptions,
  readyCluster,
  resourceController,
} from '../reconcile/index.ts';
import { idPrefixOf, newKeyText } from './key-text.ts';
import {
  type Action,
  annotationsOf,
  type Contents,
  FINALIZER,
  isForeign,
  labelsOf,
  NEXT,
  plan,
  secretNameOf,
  statusOf,
  type World,
} from './plan.ts';
import { type Roles, rolesOf } from './roles.ts';

export interface AccessControllerOptions extends ResourceOptions<EventAccess, Keys> {
  readonly databases: Informer<EventDatabase>;
  readonly random?: (count: number) => Buffer;
}

const MANAGER = 'cairn-access';
const KEY_BYTES = 40;
/** A cluster without authentication has no keys. */
const OPEN: Roles = { problem: ['AuthenticationOff', 'the cluster does not authenticate clients: none needs a key'] };
const FOREIGN = new Error('the Secret belongs to another owner');

const EVENTS: Partial<Record<Action['kind'], Omit<EventText, 'action'>>> = {
  issue: { type: 'Normal', reason: 'Issued', note: 'an API key was issued' },
  revoke: { type: 'Normal', reason: 'Revoked', note: 'an API key was revoked' },
};

export function accessController(options: AccessControllerOptions): ResourceController<World, Action> {
  const { informer, databases, clusters } = options;
  const work = new AccessWork(options);
  const dependents = (namespace: string, name: string): readonly string[] =>
    ofCluster(informer, { namespace, name }).map(keyOf);
  return resourceController(options, {
    name: 'access',
    kind: EVENT_ACCESS,
    manager: `${MANAGER}-status`,
    finalizer: FINALIZER,
    sources: [
      sourceOf(databases, ({ metadata, spec }) => dependents(metadata.namespace, spec.clusterRef.name)),
      clusters.source(({ metadata }) => dependents(metadata.namespace, metadata.name)),
    ],
    observe: (resource) => work.observe(resource),
    plan,
    act: (action, world) => work.act(action, world),
    statusOf,
    errorOf: (world) => {
      const { unknown } = 'unknown' in world.keys ? world.keys : {};
      return unknown ?? (isForeign(world) ? FOREIGN : undefined);
    },
  });
}

class AccessWork {
  readonly #options: AccessControllerOptions;

  constructor(options: AccessControllerOptions) {
    this.#options = options;
  }

  async observe(resource: EventAccess): Promise<World> {
    const { api, clusters, databases } = this.#options;
    const { metadata, spec } = resource;
    const { namespace } = metadata;
    const { name } = spec.clusterRef;
    const secret = await api.find<Secret>(SECRET, { namespace, name: secretNameOf(resource) });
    const cluster = await clusters.find(namespace, name);
    const isOpen = cluster.kind === 'ready' && !cluster.cluster.spec.auth.enabled;
    const roles = isOpen ? OPEN : rolesOf(spec.grants, ofCluster(databases, { namespace, name }));
    const keys = await this.#keysOf(resource, cluster);
    return { resource, cluster, roles, secret, keys, wallMs: api.runtime.wallMs() };
  }

  async act(action: Action, world: World): Promise<void> {
    if (action.kind === 'make-secret') await this.#makeSecret(world.resource);
    else if (action.kind === 'write-secret') await this.#writeSecret(world, action.contents);
    else if (action.kind === 'issue') await (await this.#keys(world)).issue(action.key);
    else if (action.kind === 'expire' || action.kind === 'revoke')
      await (await this.#keys(world)).revoke(action.id, action.expiresMs);
    const event = EVENTS[action.kind];
    if (event) this.#options.events.record(world.resource, { action: 'Reconcile', ...event });
  }

  /** Creates it without a key. Fails when one exists (KE2). */
  async #makeSecret(resource: EventAccess): Promise<void> {
    const { namespace } = resource.metadata;
    const metadata = { name: secretNameOf(resource), ownerReferences: [ownerReference(EVENT_ACCESS, resource)] };
    await this.#options.api.create(pathOf(SECRET, { namespace }), { metadata, type: 'Opaque' });
  }

  /** Fails when the Secret is another one, or has changed, since it was observed. */
  async #writeSecret({ resource, secret }: World, contents: Contents): Promise<void> {
    const { api, random = randomBytes } = this.#options;
    const { namespace, uid } = resource.metadata;
    const next = contents.next === true ? newKeyText(uid, random(KEY_BYTES)) : contents.next;
    const { current } = contents;
    const texts = {
      ...(current !== undefined && { [resource.spec.secret.key]: current }),
      ...(next !== undefined && { [NEXT]: next }),
    };
    const metadata = {
      namespace,
      name: secretNameOf(resource),
      uid: secret?.metadata.uid,
      resourceVersion: secret?.metadata.resourceVersion,
      ownerReferences: [ownerReference(EVENT_ACCESS, resource)],
      labels: labelsOf(resource),
      annotations: annotationsOf(resource, contents),
    };
    await apply(api, SECRET, { metadata, data: dataOf(texts) }, MANAGER);
  }

  #keys({ cluster }: World): Promise<Keys> {
    return this.#options.connect(readyCluster(cluster));
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
