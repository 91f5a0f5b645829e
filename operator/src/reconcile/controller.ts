/** The frame of the controllers of databases, access and components: a finalizer, and a status after a pass. */
import type { CairnCluster } from '../api/index.ts';
import {
  type Api,
  applyStatus,
  type Controller,
  type EventRecorder,
  type Informer,
  type Kind,
  pathOf,
  type Source,
  sourceOf,
} from '../kube/index.ts';
import type { Clusters } from './clusters.ts';
import { finalizersOf } from './finalizer.ts';
import type { Resource } from './status.ts';

export interface ResourceOptions<Item extends Resource, Client> {
  readonly api: Api;
  readonly informer: Informer<Item>;
  readonly clusters: Clusters;
  readonly connect: (cluster: CairnCluster) => Promise<Client>;
  readonly events: EventRecorder;
}

export interface ResourceParts<Item extends Resource, World, Action> {
  readonly name: string;
  readonly kind: Kind;
  readonly manager: string;
  readonly finalizer: string;
  /** Sources of keys beside the objects themselves. */
  readonly sources: readonly Source[];
  readonly observe: (resource: Item) => Promise<World>;
  /** Pure. The action `hold` adds the finalizer, `release` removes it. */
  readonly plan: (world: World) => readonly Action[];
  /** Carries an action out, after the finalizer was changed. */
  readonly act: (action: Action, world: World) => Promise<void>;
  /** Returns true when further actions may follow an action before the next observation. */
  readonly isRepeatable?: (action: Action) => boolean;
  /** Returns true when a pass reports although it has acted. */
  readonly isFailing?: (world: World) => boolean;
  /** Time after which the object is to be observed again, when it is known. */
  readonly waitOf?: (world: World) => number | undefined;
  readonly statusOf: (world: World, failure?: string) => object;
  /** An error after which the queue retries sooner than the next regular check. */
  readonly errorOf: (world: World) => Error | undefined;
}

export interface ResourceController<World, Action>
  extends Controller<World, { readonly action: Action; readonly world: World }> {
  readonly sources: readonly Source[];
}

export function resourceController<
  Item extends Resource,
  World extends { readonly resource: Item },
  Action extends { readonly kind: string },
>(
  { api, informer }: Pick<ResourceOptions<Item, unknown>, 'api' | 'informer'>,
  parts: ResourceParts<Item, World, Action>,
): ResourceController<World, Action> {
  const { name, kind, manager } = parts;
  return {
    name,
    sources: [sourceOf(informer), ...parts.sources],
    observe: async (key) => {
      const resource = informer.items.get(key);
      return resource && parts.observe(resource);
    },
    plan: (world) => parts.plan(world).map((action) => ({ action, world })),
    isIrreversible: ({ action }) => parts.isRepeatable?.(action) !== true,
    act: async ({ action, world }) => {
      const { resource } = world;
      if (action.kind === 'hold' || action.kind === 'release') {
        const metadata = finalizersOf(resource, parts.finalizer, action.kind === 'hold');
        await api.patch(pathOf(kind, resource.metadata), { metadata }, 'merge');
      }
      await parts.act(action, world);
    },
    // A pass that acted reports nothing: its world has changed, and the next pass observes it.
    report: async (world, { done, failure }, again) => {
      if (done > 0 && parts.isFailing?.(world) !== true) return;
      const waitMs = parts.waitOf?.(world);
      if (waitMs !== undefined) again(waitMs);
      const status = parts.statusOf(world, failure?.message);
      await applyStatus(api, { kind, object: world.resource, status, manager });
      const error = parts.errorOf(world);
      if (error !== undefined) throw error;
    },
  };
}
