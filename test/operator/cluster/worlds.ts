// Worlds that the simulation reaches, with changes of some fields, for tables of plans.
import type { World } from '../../../operator/src/cluster/index.ts';
import { plan } from '../../../operator/src/cluster/plan.ts';
import { statusOf } from '../../../operator/src/cluster/status.ts';
import { type Json, merged } from '../../support/kube-api/store.ts';
import { Run, textOf } from './model/run.ts';

const STEPS = 400;
export const AGO = '2026-11-29T00:00:00Z';

export async function convergedWorld(seed: number, edit: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const run = new Run(seed, edit);
  await run.until(() => run.isStable, STEPS);
  return run.world();
}

export type Change = (world: World) => World;

/** Changes fields of the world; null removes one. */
export function withFields(patch: Json): Change {
  return (world) => merged({ ...world }, patch) as unknown as World;
}

export function withEach(list: 'pods' | 'claims', name: string, patch: Json): Change {
  return (world) => {
    const items = world[list].map((item) => (item.metadata.name.endsWith(name) ? merged({ ...item }, patch) : item));
    return { ...world, [list]: items };
  };
}

export function withDescribed(list: 'nodes' | 'databases', change: (item: Json, at: number) => Json): Change {
  return (world) =>
    withFields({ description: { [list]: world.description?.[list].map((item, at) => change({ ...item }, at)) } })(
      world,
    );
}

export const withNode = (id: number, patch: Json): Change =>
  withDescribed('nodes', (node) => (node['id'] === id ? { ...node, ...patch } : node));
export const withSpec = (spec: Json): Change => withFields({ cluster: { spec } });
export const silent = (id: number): Change => withNode(id, { answers: false });
export const withStatus = (status: Json): Change => withFields({ cluster: { status } });
export const withUpdate = (update: Json): Change => withSpec({ update });
export const withClaim = (name: string, metadata: Json): Change => withEach('claims', name, { metadata });
export const withReplicas = (replicas: number): Change => withSpec({ replicas });
export const marked =
  (name: string, agoMs: number): Change =>
  (world) => {
    const annotations = { 'cairn.dev/draining-since': new Date(world.nowMs - agoMs).toISOString() };
    return withEach('pods', name, { metadata: { annotations } })(world);
  };

export const draining: Change[] = [marked('shop-0', 1_000), withNode(1, { isDraining: true })];
export const unanswered: Change = withFields({ description: null });
export const unconfirmed: Change = withFields({ description: { isConfirmed: false } });
export const unreadySince = (name: string, since: string): Change =>
  withEach('pods', name, { status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: since }] } });
export const applied: Change = (world) => ({ ...world, isApplied: () => true });
export const unapplied: Change[] = [
  withFields({ sets: { voters: null } }),
  (world) => ({ ...world, isApplied: () => false }),
];
export const released: Change = withClaim('shop-2', { labels: { 'cairn.dev/released': '3' } });
export const recovered: Change = withSpec({ recovery: { id: 'one', survivor: 'shop-0', acknowledgeDataLoss: true } });
export const held: Change = withFields({ cluster: { metadata: { finalizers: ['cairn.dev/volumes'] } } });
export const deleted: Change = withFields({
  cluster: {
    metadata: { deletionTimestamp: AGO, finalizers: ['cairn.dev/volumes', 'example.com/audit'] },
    spec: { reclaimPolicy: 'Delete' },
  },
});
export const retained: Change = withSpec({ reclaimPolicy: 'Retain' });

/** An action with the pods that it expects to be ready or not, and the Kubernetes node that must be lost. */
function shown(action: ReturnType<typeof plan>[number]): string {
  if (!('object' in action) || action.kind === 'apply') return textOf(action);
  const { expects = [] } = 'expects' in action ? action : {};
  const { lostNode, how } = action.kind === 'delete' ? action : {};
  const pods = expects.map(({ name, readyMs }) => (readyMs === undefined ? `!${name}` : name));
  return [textOf(action), how, ...pods, lostNode && '!node'].filter((part) => part !== undefined).join(' ');
}

/** A world of three nodes, 1 to 3 in shop-0 to shop-2. Node 1 has the most leaderships. */
export async function worldOfThree(): Promise<World> {
  const leads = withDescribed('nodes', (node) => ({ ...node, leads: 4 - Number(node['id']), movableLeads: 1 }));
  return leads(await convergedWorld(1, { 'update.stableSeconds': 0 }));
}

/** Returns the plan of a changed world as a line of text, and the reasons of its conditions. */
export function planned(
  world: World,
  changes: readonly Change[],
): readonly [actions: string, reasons: readonly string[]] {
  const changed = changes.reduce((found, change) => change(found), world);
  const actions = plan(changed);
  const { conditions = [] } = statusOf(changed, { plan: actions, done: 0 }, { tls: ['True', 'Disabled', ''] });
  return [actions.map(shown).join(', '), conditions.map(({ reason }) => reason)];
}

/** Changes of a world, its plan, and some reasons of its conditions. */
export type Example = readonly [name: string, readonly Change[], RegExp, ...reasons: readonly string[]];
